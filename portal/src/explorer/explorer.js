// The explorer shows what a key can see. This module holds the page's state: one session, which ends with the page, and
// one view, which follows the page's address.

import { readDemoKey } from '../demo-key.ts';
import { listAddress, readAddress } from './address.js';
import { button, element } from './dom.js';
import { AnswerError } from './errors.js';
import { forgetKeptKey, keepKey, readKeptKey } from './kept-key.js';
import { keyForm } from './parts/key-form.js';
import { showKey } from './views/key-view.js';
import { readPreviousPages, showList } from './views/list-view.js';
import { LISTS } from './views/lists.js';
import { showOverview } from './views/overview.js';
import { problemBox } from './parts/problem-box.js';
import { QuotaLine } from './parts/quota-line.js';
import { showContract, showSupplier } from './views/record-view.js';
import { Session } from './session.js';
import { showSearch } from './views/search.js';
import { showSolicitation } from './views/solicitation-view.js';
import { View } from './view.js';

/** @typedef {import('./address.js').Place} Place */
/** @typedef {import('./view.js').Key} Key */
/** @typedef {import('./view.js').Known} Known */

/** In the order of the navigation links. `kind` is what the key must be able to read. */
const VIEWS = [
  { view: 'overview', title: 'Overview', kind: null },
  ...LISTS.map(({ view, title }) => ({ view, title, kind: view })),
  { view: 'key', title: 'Your key', kind: null },
];

const RECORDS = new Map([
  ['solicitations', showSolicitation],
  ['contracts', showContract],
  ['suppliers', showSupplier],
]);

const WINDOW_TITLE = document.title;

class Explorer {
  #root;
  #demoKey = readDemoKey();
  /** Null while there is no key. @type {Known | null} */
  #known = null;
  /** @type {View | null} */
  #view = null;
  #place = readAddress(location.hash);
  #links = VIEWS.map((each) => ({ ...each, node: element('a', { href: listAddress(each.view) }, each.title) }));
  #navigation = element('nav', { class: 'views', 'aria-label': 'Views' });
  #words = element('input', {
    type: 'search',
    name: 'q',
    'aria-label': 'Search all that the key sees',
    placeholder: 'Search all records',
  });
  #note = element('p', { class: 'note-box' });
  #content = element('div', { class: 'view' });
  #told = element('p', { class: 'visually-hidden', role: 'status' });

  /** @param {HTMLElement} root */
  constructor(root) {
    this.#root = root;
    addEventListener('hashchange', () => this.#onAddress());
    // The browser can keep this page in memory for Back: remove the key and the records first.
    addEventListener('pagehide', () => this.#clear(null));
    addEventListener('pageshow', () => this.#resume());
    // Following the link would replace the view in the page's address.
    document.querySelector('.sl-skip-link')?.addEventListener('click', (event) => {
      event.preventDefault();
      const title = document.getElementById('_top');
      title?.setAttribute('tabindex', '-1');
      title?.focus();
    });
    this.#clear(null);
    this.#resume();
  }

  /** Begins with the key that the user chose to keep in this tab. */
  #resume() {
    const key = readKeptKey();
    if (key !== null && this.#known === null) this.#begin(key);
  }

  /** @param {unknown} error the reason to show above the form, or null */
  #forget(error) {
    forgetKeptKey();
    history.replaceState(null, '');
    this.#clear(error);
  }

  /** Removes the key and the records from the page. @param {unknown} error */
  #clear(error) {
    this.#view?.end();
    this.#view = null;
    this.#known = null;
    document.title = WINDOW_TITLE;
    const form = keyForm(error, this.#demoKey, (key, isKept) => {
      if (isKept) keepKey(key);
      this.#begin(key);
    });
    this.#root.replaceChildren(form);
    this.#content.replaceChildren();
    if (error !== null) form.querySelector('input')?.focus();
  }

  /** @param {string} key */
  #begin(key) {
    const quotaLine = new QuotaLine();
    const session = new Session(
      key,
      (quota) => quotaLine.show(quota),
      (error) => {
        if (this.#known?.session === session) this.#forget(error);
      },
    );
    this.#known = {
      session,
      access: null,
      names: new Map(),
      previousPages: readPreviousPages(),
      counts: new Map(),
      isSorted: false,
    };
    const bar = element(
      'div',
      { class: 'session' },
      this.#searchForm(),
      quotaLine.node,
      button('Forget the key', () => {
        this.#forget(null);
        this.#root.querySelector('input')?.focus();
      }),
    );
    this.#content.replaceChildren();
    this.#navigation.replaceChildren();
    this.#note.textContent = '';
    this.#root.replaceChildren(bar, this.#navigation, this.#note, this.#told, this.#content);
    void this.#show();
  }

  #onAddress() {
    this.#place = readAddress(location.hash);
    if (this.#known !== null) void this.#show();
  }

  async #show() {
    const known = this.#known;
    if (known === null) return;
    this.#view?.end();
    const view = new View(known);
    this.#view = view;
    this.#markLinks(this.#place);
    const focused = document.activeElement;
    this.#content.setAttribute('aria-busy', 'true');
    // Input typed now would be lost when the view is replaced.
    this.#content.inert = true;
    this.#told.textContent = 'Loading.';
    let parts;
    try {
      const place = { ...this.#place, view: this.#place.view ?? 'overview' };
      // The old name of the overview's deadlines.
      if (place.view === 'timeline') place.view = 'overview';
      this.#markLinks(place);
      this.#words.value = place.view === 'search' ? (place.parameters.get('q') ?? '') : '';
      let key = known.access;
      if (key === null || place.view === 'overview') {
        key = known.access = await view.readKey(place.view === 'overview');
        this.#offerViews(key, view);
      }
      parts = await this.#make(place, view, key);
    } catch (error) {
      if (view.signal.aborted) return;
      const title = VIEWS.find((listed) => listed.view === this.#place.view)?.title ?? 'Not shown';
      parts = [element('h2', { tabindex: '-1' }, title), problemBox(error, () => void this.#show())];
      if (error instanceof AnswerError && error.status === 403) {
        if (known.access !== null) parts.push(element('p', {}, 'What else your key can see is in the views above.'));
        // The partner's kinds can have changed: the next view reads them again.
        known.access = null;
      }
    }
    if (view.signal.aborted) return;
    for (const part of parts) if (part instanceof Element) this.#removeDeadLinks(part, view);
    this.#content.removeAttribute('aria-busy');
    this.#content.inert = false;
    this.#content.replaceChildren(...parts, view.requests.node);
    // Leave the focus alone if the user moved it while the view was loading.
    this.#announce([focused, document.body].includes(document.activeElement));
  }

  /** @param {Place & { view: string }} place @param {View} view @param {Key} key @returns {Promise<Node[]>} */
  async #make({ view: name, id, parameters }, view, key) {
    const showRecord = RECORDS.get(name);
    // The API's only path below a list that is not a record.
    const isCount = id === 'count';
    if (id !== null && showRecord !== undefined && !isCount) return showRecord(id, view);
    const list = LISTS.find((candidate) => candidate.view === name);
    if (list !== undefined && id === null) return showList(list, parameters, view);
    if (name === 'search' && id === null) return showSearch(parameters, view);
    if (name === 'key' && id === null) return showKey(view);
    if (name === 'overview' && id === null) return showOverview(view, key);
    return [
      element('h2', { tabindex: '-1' }, 'Nothing is here'),
      element('p', {}, 'The address of this page names no view. Choose one above.'),
    ];
  }

  #searchForm() {
    const form = element('form', { role: 'search' }, this.#words, element('button', { type: 'submit' }, 'Search'));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const q = this.#words.value.trim();
      if (q !== '') this.#view?.open(listAddress('search', { q }));
    });
    return form;
  }

  /** Names the view in the window's title. @param {boolean} isFollowed whether to focus and show its heading, too */
  #announce(isFollowed) {
    const heading = this.#content.querySelector('h2');
    const title = heading?.textContent ?? '';
    document.title = `${title} · ${WINDOW_TITLE}`;
    this.#told.textContent = '';
    if (!isFollowed) return;
    heading?.focus({ preventScroll: true });
    if (this.#root.getBoundingClientRect().top < 0) this.#root.scrollIntoView();
  }

  /** The views that the key can read. @param {View} view */
  #offered(view) {
    return this.#links.filter(({ kind }) => kind === null || view.canRead(kind));
  }

  /** @param {Key} key @param {View} view */
  #offerViews(key, view) {
    this.#navigation.replaceChildren(...this.#offered(view).map(({ node }) => node));
    const searched = this.#words.form;
    if (searched !== null) searched.hidden = key.kinds.length === 0;
    this.#note.textContent = whyEmpty(key);
  }

  /** A record's link to a view that the key cannot read becomes text; a link that is nothing else goes. @param {Element} part @param {View} view */
  #removeDeadLinks(part, view) {
    const offered = new Set(this.#offered(view).map((each) => each.view));
    for (const link of part.querySelectorAll('a')) {
      const address = link.getAttribute('href') ?? '';
      if (!address.startsWith('#/') || offered.has(readAddress(address).view ?? '')) continue;
      if (link.classList.contains('onward')) link.remove();
      else link.replaceWith(...link.childNodes);
    }
  }

  /** @param {Place} place */
  #markLinks(place) {
    for (const { view, node } of this.#links) {
      if (view !== place.view) node.removeAttribute('aria-current');
      else node.setAttribute('aria-current', place.id === null ? 'page' : 'true');
    }
    // On a phone the links are one line that scrolls sideways: bring the current one into view.
    const current = this.#links.find(({ view }) => view === place.view);
    if (current?.node.parentElement) current.node.parentElement.scrollLeft = current.node.offsetLeft;
  }
}

/** Why a key sees little or nothing; empty if nothing is missing. @param {Key} key */
function whyEmpty({ kinds, sees_everything: isAll, granted_lead_entities: entities, granted_coops: coops }) {
  if (kinds.length === 0)
    return 'Your partner can request no kind of record. Contact the operator who issued your key.';
  if (isAll || entities + coops > 0) return '';
  return (
    'Nothing has been granted to your partner yet, so your key sees no contracts, solicitations or suppliers. ' +
    'Contact the operator who issued your key.'
  );
}

const root = document.getElementById('explorer');
if (root !== null) new Explorer(root);

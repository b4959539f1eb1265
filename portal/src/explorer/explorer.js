// The explorer shows what a key can see. This module holds the page's state: one session, which ends with the page, and
// one view, which follows the page's address.

import { readDemoKey } from '../demo-key.ts';
import { FIRST_VIEW, listAddress, readAddress } from './address.js';
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
import { showSolicitation } from './views/solicitation-view.js';
import { showTimeline } from './views/timeline.js';
import { View } from './view.js';

/** @typedef {import('./address.js').Place} Place */

/**
 * State of one key, discarded together with the key.
 *
 * @typedef {object} Known
 * @property {Session} session
 * @property {Map<string, import('./view.js').Names>} names reference lists already read, by path
 * @property {Map<string, string>} previousPages address of a list page → address of the page before it
 */

const VIEWS = [
  { view: FIRST_VIEW, title: 'Overview' },
  { view: 'timeline', title: 'Timeline' },
  ...LISTS.map(({ view, title }) => ({ view, title })),
  { view: 'key', title: 'Your key' },
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
  #links = VIEWS.map(({ view, title }) => ({ view, node: element('a', { href: listAddress(view) }, title) }));
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
    this.#known = { session, names: new Map(), previousPages: readPreviousPages() };
    const bar = element(
      'div',
      { class: 'session' },
      quotaLine.node,
      button('Forget the key', () => {
        this.#forget(null);
        this.#root.querySelector('input')?.focus();
      }),
    );
    this.#content.replaceChildren();
    const links = element('nav', { class: 'views', 'aria-label': 'Views' }, ...this.#links.map(({ node }) => node));
    this.#root.replaceChildren(bar, links, this.#told, this.#content);
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
    const view = new View(known.session, known.names);
    this.#view = view;
    this.#markLinks();
    const focused = document.activeElement;
    this.#content.setAttribute('aria-busy', 'true');
    // Input typed now would be lost when the view is replaced.
    this.#content.inert = true;
    this.#told.textContent = 'Loading.';
    let parts;
    try {
      parts = await this.#make(this.#place, view, known.previousPages);
    } catch (error) {
      if (view.signal.aborted) return;
      const title = VIEWS.find((it) => it.view === this.#place.view)?.title ?? 'Not shown';
      parts = [element('h2', { tabindex: '-1' }, title), problemBox(error, () => void this.#show())];
      if (error instanceof AnswerError && error.status === 403)
        parts.push(element('p', {}, 'What else your key may see is in the other views above.'));
    }
    if (view.signal.aborted) return;
    this.#content.removeAttribute('aria-busy');
    this.#content.inert = false;
    this.#content.replaceChildren(...parts, view.requests.node);
    // Leave the focus alone if the user moved it while the view was loading.
    this.#announce([focused, document.body].includes(document.activeElement));
  }

  /** @param {Place} place @param {View} view @param {Map<string, string>} previousPages @returns {Promise<Node[]>} */
  async #make({ view: name, id, parameters }, view, previousPages) {
    const showRecord = RECORDS.get(name);
    // The API's only path below a list that is not a record.
    const isCount = name === 'solicitations' && id === 'count';
    if (id !== null && showRecord !== undefined && !isCount) return showRecord(id, view);
    const list = LISTS.find((it) => it.view === name);
    if (list !== undefined && id === null) return showList(list, parameters, view, previousPages);
    if (name === 'timeline' && id === null) return showTimeline(view);
    if (name === 'key' && id === null) return showKey(view);
    if (name === FIRST_VIEW && id === null) return showOverview(view);
    return [
      element('h2', { tabindex: '-1' }, 'Nothing is here'),
      element('p', {}, 'The address of this page names no view. Choose one above.'),
    ];
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

  #markLinks() {
    for (const { view, node } of this.#links) {
      if (view !== this.#place.view) node.removeAttribute('aria-current');
      else node.setAttribute('aria-current', this.#place.id === null ? 'page' : 'true');
    }
    // On a phone the links are one line that scrolls sideways: bring the current one into view.
    const current = this.#links.find(({ view }) => view === this.#place.view);
    if (current?.node.parentElement) current.node.parentElement.scrollLeft = current.node.offsetLeft;
  }
}

const root = document.getElementById('explorer');
if (root !== null) new Explorer(root);

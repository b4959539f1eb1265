// A field for records' names, which the form submits as their IDs.

import { button, element } from '../dom.js';
import { formatNumber } from '../format.js';
import { findNamed, readNamed } from '../names.js';

/** @typedef {import('../view.js').Named} Named */
/** @typedef {import('../view.js').View} View */

/** Records offered at once if a name is not clear. */
const MAX_OFFERED = 8;

export class NameField {
  #view;
  #kind;
  #label;
  #input;
  /** Submits the IDs. */
  #submitted;
  #offered;
  /** The names of those chosen, by ID. @type {Map<string, string>} */
  #chosen;
  #shown = element('ul', { class: 'chosen' });

  /**
   * @param {View} view
   * @param {{ name: string, label: string, kind: string }} filter
   * @param {string} ids of the records that are chosen already, separated by commas
   */
  constructor(view, { name, label, kind }, ids) {
    this.#view = view;
    this.#kind = kind;
    this.#label = label.toLowerCase();
    this.#chosen = new Map(ids.split(',').flatMap((id) => (id === '' ? [] : [[id, id]])));
    this.#input = element('input', {
      id: `filter-${name}`,
      type: 'text',
      spellcheck: 'false',
      autocapitalize: 'off',
      placeholder: this.#chosen.size === 0 ? 'name or ID' : 'or another',
      list: `offered-${name}`,
    });
    this.#submitted = element('input', { type: 'hidden', name, value: ids });
    this.#offered = element('datalist', { id: `offered-${name}` });
    this.nodes = [this.#input, this.#submitted, this.#offered, this.#shown];
    this.#showChosen();
    // Names are read only for a field that is used: each request counts against the partner's limit.
    if (kind !== 'suppliers') this.#input.addEventListener('focus', () => void this.#offer(), { once: true });
    if (ids !== '') void this.#readChosen();
  }

  /**
   * Looks up what was typed.
   *
   * @param {() => void} onChoice called once the user has chosen one of those offered
   * @returns {Promise<Node | null>} null if the field is empty or names one record; otherwise what is to be chosen from
   * @throws {import('../errors.js').AnswerError} like `Session.ask`
   */
  async resolve(onChoice) {
    const text = this.#input.value.trim();
    if (text === '') return null;
    const { meant, candidates } = await findNamed(this.#view, this.#kind, text);
    if (meant === null) {
      this.#input.setAttribute('aria-invalid', 'true');
      this.#input.focus();
      return this.#choices(text, candidates, onChoice);
    }
    this.#choose(meant);
    return null;
  }

  /** @param {Named} named */
  #choose({ id, name }) {
    this.#chosen.set(id, name);
    this.#input.value = '';
    this.#input.removeAttribute('aria-invalid');
    this.#showChosen();
  }

  /** Each of those chosen is a button that removes it. */
  #showChosen() {
    this.#submitted.value = [...this.#chosen.keys()].join();
    const items = [...this.#chosen].map(([id, name]) => {
      const remove = button(
        '',
        () => {
          this.#chosen.delete(id);
          this.#showChosen();
          this.#input.focus();
        },
        { 'aria-label': `Remove ${name}`, title: id },
      );
      remove.append(name, element('span', { 'aria-hidden': 'true' }, ' ×'));
      return element('li', {}, remove);
    });
    this.#shown.replaceChildren(...items);
    this.#shown.hidden = items.length === 0;
  }

  /** @param {string} text @param {readonly Named[]} candidates @param {() => void} onChoice */
  #choices(text, candidates, onChoice) {
    if (candidates.length === 0) {
      return element('p', {}, `Your key sees no ${this.#label} with the name or ID “${text}”. Choose another.`);
    }
    const offered = candidates.slice(0, MAX_OFFERED);
    const others = candidates.length - offered.length;
    return element(
      'div',
      {},
      element('p', {}, `“${text}” is not the name of one ${this.#label}. Choose one:`),
      element(
        'ul',
        {},
        ...offered.map((named) =>
          element(
            'li',
            {},
            button(named.name, () => {
              this.#choose(named);
              onChoice();
            }),
            ' ',
            element('code', {}, named.id),
          ),
        ),
      ),
      others > 0 && element('p', {}, `Of ${formatNumber(candidates.length)} or more: type more of the name.`),
    );
  }

  async #offer() {
    try {
      const names = await this.#view.readNames(this.#kind);
      this.#offered.replaceChildren(...names.map(({ name }) => element('option', { value: name })));
    } catch {
      // Only an offer: what is typed is looked up when it is sent, and an error is shown then.
    }
  }

  async #readChosen() {
    try {
      for (const id of [...this.#chosen.keys()]) {
        const named = await readNamed(this.#view, this.#kind, id);
        if (named !== null && this.#chosen.has(id)) this.#chosen.set(id, named.name);
      }
      this.#showChosen();
    } catch {
      // The field shows the IDs.
    }
  }
}

// A field for a record's name, which the form submits as the record's ID.

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
  /** Submits the ID. */
  #chosen;
  #offered;
  /** The text for which `#chosen` is right. */
  #lookedUp;

  /**
   * @param {View} view
   * @param {{ name: string, label: string, kind: string }} filter
   * @param {string} id of the record that is chosen already, or empty
   */
  constructor(view, { name, label, kind }, id) {
    this.#view = view;
    this.#kind = kind;
    this.#label = label.toLowerCase();
    this.#lookedUp = id;
    this.#input = element('input', {
      id: `filter-${name}`,
      type: 'text',
      spellcheck: 'false',
      autocapitalize: 'off',
      placeholder: 'name or ID',
      list: `offered-${name}`,
    });
    this.#input.value = id;
    this.#chosen = element('input', { type: 'hidden', name, value: id });
    this.#offered = element('datalist', { id: `offered-${name}` });
    this.nodes = [this.#input, this.#chosen, this.#offered];
    // Names are read only for a field that is used: each request counts against the partner's limit.
    if (kind !== 'suppliers') this.#input.addEventListener('focus', () => void this.#offer(), { once: true });
    if (id !== '') void this.#showName(id);
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
    if (text !== this.#lookedUp) {
      const { meant, candidates } =
        text === '' ? { meant: { id: '', name: '' }, candidates: [] } : await findNamed(this.#view, this.#kind, text);
      if (meant === null) {
        this.#input.setAttribute('aria-invalid', 'true');
        this.#input.focus();
        return this.#choices(text, candidates, onChoice);
      }
      this.#choose(meant);
    }
    return null;
  }

  /** @param {Named} named */
  #choose({ id, name }) {
    this.#chosen.value = id;
    this.#input.value = name;
    this.#lookedUp = name;
    this.#input.removeAttribute('aria-invalid');
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

  /** @param {string} id */
  async #showName(id) {
    try {
      const named = await readNamed(this.#view, this.#kind, id);
      if (named !== null && this.#input.value === id) this.#choose(named);
    } catch {
      // The field shows the ID.
    }
  }
}

// The requests behind a view, as curl commands to paste into a shell, and their responses as JSON.

import { copyOrSelect } from './copy.js';
import { button, element } from '../dom.js';

const TOLD_FOR_MS = 3000;

const FORMATS = /** @type {const} */ (['curl', 'JSON']);

/**
 * The request as a curl command, with `$PARTNER_DATA_KEY` in place of the key.
 *
 * @param {string} origin
 * @param {string} path with its query
 */
export function curlCommand(origin, path) {
  return `curl -H "Authorization: Bearer $PARTNER_DATA_KEY" ${quoteForShell(origin + path)}`;
}

/** Quotes any text as one word for POSIX shells. @param {string} text */
function quoteForShell(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Shows the requests of one view; more can be added while the view is open. */
export class RequestsPanel {
  /** @type {string[]} */
  #commands = [];
  /** @type {[path: string, body: unknown][]} */
  #responses = [];
  #tabs = FORMATS.map((format) => button(format, () => this.#select(format), { role: 'tab', id: `tab-${format}` }));
  /** @type {typeof FORMATS[number]} */
  #selected = 'curl';
  #summary = element('summary');
  #code = element('code');
  #told = element('span', { role: 'status', class: 'told' });

  constructor() {
    const copy = button('Copy', () => void this.#copy());
    this.node = element(
      'details',
      { class: 'requests', open: true },
      this.#summary,
      element('div', { class: 'formats', role: 'tablist', 'aria-label': 'Format' }, ...this.#tabs),
      element('div', { role: 'tabpanel', 'aria-label': 'Requests' }, element('pre', { tabindex: '0' }, this.#code)),
      element('p', { class: 'actions' }, copy, this.#told),
    );
    this.node.hidden = true;
    this.node.addEventListener('keydown', (event) => this.#onKey(event));
    this.#select('curl');
  }

  /** @param {string} path with its query */
  add(path) {
    this.#commands.push(curlCommand(location.origin, path));
    const count = this.#commands.length;
    // Several commands would fill a phone's screen: fold the panel at the second one.
    if (count === 2) this.node.open = false;
    this.#summary.textContent = count === 1 ? 'The request behind this view' : `The ${count} requests behind this view`;
    this.node.hidden = false;
    this.#render();
  }

  /** @param {string} path with its query @param {unknown} body */
  addResponse(path, body) {
    this.#responses.push([path, body]);
    this.#render();
  }

  /** @param {typeof FORMATS[number]} format */
  #select(format) {
    this.#selected = format;
    for (const [index, tab] of this.#tabs.entries()) {
      tab.setAttribute('aria-selected', String(FORMATS[index] === format));
      tab.tabIndex = FORMATS[index] === format ? 0 : -1;
    }
    this.#render();
  }

  /** The arrow keys move between tabs. @param {KeyboardEvent} event */
  #onKey({ key, target }) {
    if (!['ArrowLeft', 'ArrowRight'].includes(key)) return;
    if (!this.#tabs.some((tab) => tab === target)) return;
    const other = this.#tabs.find((tab) => tab !== target);
    other?.click();
    other?.focus();
  }

  /** One response is shown as it is, several by their paths. */
  #render() {
    if (this.#selected === 'curl') {
      this.#code.textContent = this.#commands.join('\n');
      return;
    }
    const [first] = this.#responses;
    const response = this.#responses.length > 1 ? Object.fromEntries(this.#responses) : first?.[1];
    this.#code.textContent = response === undefined ? '' : JSON.stringify(response, null, 2);
  }

  async #copy() {
    const isCopied = await copyOrSelect(this.#code);
    this.#told.textContent = isCopied ? 'Copied.' : 'Selected: copy it with your keyboard.';
    setTimeout(() => (this.#told.textContent = ''), TOLD_FOR_MS);
  }
}

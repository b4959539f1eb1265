// The requests behind a view, as curl commands to paste into a shell.

import { copyOrSelect } from '../copy.js';
import { button, element } from './dom.js';

const TOLD_FOR_MS = 3000;

/**
 * The request as a curl command, with `$API_KEY` in place of the key.
 *
 * @param {string} origin
 * @param {string} path with its query
 */
export function curlCommand(origin, path) {
  return `curl -H "Authorization: Bearer $API_KEY" ${quoteForShell(origin + path)}`;
}

/** Quotes any text as one word for POSIX shells. @param {string} text */
function quoteForShell(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Shows the requests of one view; more can be added while the view is open. */
export class RequestsPanel {
  /** @type {string[]} */
  #commands = [];
  #summary = element('summary');
  #code = element('code');
  #told = element('span', { role: 'status', class: 'told' });

  constructor() {
    const copy = button('Copy', () => void this.#copy());
    this.node = element(
      'details',
      { class: 'requests', open: true },
      this.#summary,
      element(
        'pre',
        { tabindex: '0', role: 'region', 'aria-label': 'The requests behind this view, as curl commands' },
        this.#code,
      ),
      element('p', { class: 'actions' }, copy, this.#told),
    );
    this.node.hidden = true;
  }

  /** @param {string} path with its query */
  add(path) {
    this.#commands.push(curlCommand(location.origin, path));
    const count = this.#commands.length;
    // Several commands would fill a phone's screen: fold the panel at the second one.
    if (count === 2) this.node.open = false;
    this.#summary.textContent = count === 1 ? 'The request behind this view' : `The ${count} requests behind this view`;
    this.#code.textContent = this.#commands.join('\n');
    this.node.hidden = false;
  }

  async #copy() {
    const isCopied = await copyOrSelect(this.#code);
    this.#told.textContent = isCopied ? 'Copied.' : 'Selected: copy it with your keyboard.';
    setTimeout(() => (this.#told.textContent = ''), TOLD_FOR_MS);
  }
}

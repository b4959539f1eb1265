// What a view is given to work with.

import { RequestsPanel } from './requests-panel.js';

/** @typedef {import('./session.js').Session} Session */

/**
 * @typedef {{ id: string, name: string }} Named
 * @typedef {{ names: Named[], isAll: boolean }} Names the first ones of a reference list, and whether these are all
 */

/** How many requests a view has under way at once. */
const AT_ONCE = 2;

/** Of 100 each: every request counts against the partner's limit. */
const MAX_PAGES_OF_NAMES = 5;

/** One view, from the moment it is opened until another takes its place. */
export class View {
  #session;
  #names;
  #ended = new AbortController();

  /**
   * @param {Session} session
   * @param {Map<string, Names>} names reference lists that were read with this session
   */
  constructor(session, names) {
    this.#session = session;
    this.#names = names;
    this.requests = new RequestsPanel();
    this.signal = this.#ended.signal;
  }

  /** The service's time in milliseconds. */
  now() {
    return this.#session.now(this.signal);
  }

  /**
   * Asks the service, and shows the request below the view.
   *
   * @param {string} path
   * @param {URLSearchParams | Readonly<Record<string, string>>} parameters
   * @returns {Promise<any>} the answer's body
   */
  ask(path, parameters = {}) {
    const query = new URLSearchParams(parameters).toString();
    const target = query === '' ? path : `${path}?${query}`;
    this.requests.add(target);
    return this.#session.ask(target, this.signal);
  }

  /**
   * How many solicitations match: the one thing that can be counted without being read.
   *
   * @param {Readonly<Record<string, string>>} filters
   * @returns {Promise<number>}
   */
  async count(filters) {
    /** @type {{ total: number }} */
    const { total } = await this.ask('/v1/solicitations/count', filters);
    return total;
  }

  /**
   * Does something with each, two at a time, in order. The first that fails ends it, since those after it would most
   * likely fail as well, and every request counts.
   *
   * @template Item, Result
   * @param {readonly Item[]} items
   * @param {(item: Item) => Promise<Result>} work
   * @returns {Promise<Result[]>} in the order of the items
   */
  async askEach(items, work) {
    /** @type {Result[]} */
    const results = [];
    const rest = items.entries();
    let failed = false;
    const worker = async () => {
      for (const [index, item] of rest) {
        if (failed) return;
        try {
          results[index] = await work(item);
        } catch (error) {
          failed = true;
          throw error;
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    return results;
  }

  /**
   * The first records of a reference list; asked once in a session.
   *
   * @param {string} path
   * @param {{ isBehindView: boolean }} options whether what is shown is made of it, so that the requests are told
   * @returns {Promise<Names>}
   */
  async readNames(path, { isBehindView }) {
    const known = this.#names.get(path);
    if (known !== undefined) return known;
    /** @type {Named[]} */
    const names = [];
    /** @type {string | null} */
    let cursor = '';
    for (let page = 0; page < MAX_PAGES_OF_NAMES && cursor !== null; page++) {
      const parameters = { limit: '100', ...(cursor !== '' && { cursor }) };
      /** @type {{ data: Named[], meta: { next_cursor: string | null } }} */
      const body = isBehindView
        ? await this.ask(path, parameters)
        : await this.#session.ask(`${path}?${new URLSearchParams(parameters).toString()}`, this.signal);
      names.push(...body.data);
      cursor = body.meta.next_cursor;
    }
    const read = { names, isAll: cursor === null };
    this.#names.set(path, read);
    return read;
  }

  /** Shows another place, which Back leaves again. @param {string} address */
  open(address) {
    // The same address again is a wish to ask again.
    if (location.hash === address) window.dispatchEvent(new HashChangeEvent('hashchange'));
    else location.hash = address;
  }

  /** Gives up what is under way. */
  end() {
    this.#ended.abort();
  }
}

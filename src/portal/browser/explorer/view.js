// What a view is given to work with.

import { RequestsPanel } from './requests-panel.js';

/** @typedef {import('./session.js').Session} Session */

/** How many requests a view has under way at once. */
const AT_ONCE = 2;

/** One view, from the moment it is opened until another takes its place. */
export class View {
  #session;
  #names;
  #ended = new AbortController();

  /**
   * @param {Session} session
   * @param {Map<string, { id: string, name: string }[]>} names reference lists that were read with this session
   */
  constructor(session, names) {
    this.#session = session;
    this.#names = names;
    this.requests = new RequestsPanel();
    this.signal = this.#ended.signal;
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
   * @param {number} mostPages of 100
   * @returns {Promise<{ id: string, name: string }[]>}
   */
  async readNames(path, mostPages) {
    const known = this.#names.get(path);
    if (known !== undefined) return known;
    /** @type {{ id: string, name: string }[]} */
    const names = [];
    /** @type {string | null} */
    let cursor = null;
    for (let page = 0; page < mostPages; page++) {
      /** @type {{ data: { id: string, name: string }[], meta: { next_cursor: string | null } }} */
      const body = await this.ask(path, { limit: '100', ...(cursor !== null && { cursor }) });
      names.push(...body.data);
      cursor = body.meta.next_cursor;
      if (cursor === null) break;
    }
    this.#names.set(path, names);
    return names;
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

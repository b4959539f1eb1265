// The requests and state available to a view.

import { RequestsPanel } from './parts/requests-panel.js';

/** @typedef {import('./session.js').Session} Session */

/**
 * @typedef {{ id: string, name: string }} Named
 * @typedef {{ names: Named[], isAll: boolean }} Names the first entries of a reference list, and whether they are all of it
 */

/** Concurrent requests in `askEach`. */
const AT_ONCE = 2;

/** Pages of 100. Capped because every request counts against the partner's limit. */
const MAX_PAGES_OF_NAMES = 5;

/** One view, from when it is opened until another replaces it. */
export class View {
  #session;
  #names;
  #ended = new AbortController();

  /**
   * @param {Session} session
   * @param {Map<string, Names>} names reference lists already read in this session, by path
   */
  constructor(session, names) {
    this.#session = session;
    this.#names = names;
    this.requests = new RequestsPanel();
    this.signal = this.#ended.signal;
  }

  /** The service's time, in milliseconds since 1970. */
  now() {
    return this.#session.now(this.signal);
  }

  /**
   * Sends a GET request and lists it below the view. Throws like `Session.ask`.
   *
   * @param {string} path
   * @param {URLSearchParams | Readonly<Record<string, string>>} parameters
   * @returns {Promise<any>} the response's body
   */
  async ask(path, parameters = {}) {
    const query = new URLSearchParams(parameters).toString();
    const target = query === '' ? path : `${path}?${query}`;
    this.requests.add(target);
    const body = await this.#session.ask(target, this.signal);
    this.requests.addResponse(target, body);
    return body;
  }

  /**
   * Reads a list as CSV, and lists the request below the view. Throws like `Session.readCsv`.
   *
   * @param {string} path
   * @param {URLSearchParams} parameters
   */
  readCsv(path, parameters) {
    const target = `${path}?${parameters.toString()}`;
    this.requests.add(target);
    return this.#session.readCsv(target, this.signal);
  }

  /**
   * Counts the solicitations that match. No other resource has an endpoint that counts.
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
   * Runs `work` on each item, two at a time, in order. After the first failure no further item is started: it would
   * most likely fail as well, and every request counts against the limit.
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
   * The first records of a reference list, at most 500; requested once per session.
   *
   * @param {string} path
   * @param {{ isBehindView: boolean }} options whether the view shows these names, so that the requests are listed
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

  /** Opens an address as a new history entry. @param {string} address */
  open(address) {
    // Setting the same hash fires no event, so dispatch one: the view is then requested again.
    if (location.hash === address) window.dispatchEvent(new HashChangeEvent('hashchange'));
    else location.hash = address;
  }

  /** Aborts requests in flight. */
  end() {
    this.#ended.abort();
  }
}

// The requests and state available to a view.

import { formatNumber } from './format.js';
import { RequestsPanel } from './parts/requests-panel.js';

/** @typedef {import('../../../client/src/generated/types.gen.ts').Key} Key */
/** @typedef {import('./session.js').Session} Session */
/** @typedef {{ id: string, name: string }} Named */
/** @typedef {{ total: number | null, byStatus: readonly number[] | null }} Counts `byStatus` in the order of the statuses */

/**
 * State of one key, discarded together with the key.
 *
 * @typedef {object} Known
 * @property {Session} session
 * @property {Key | null} access what the key can read; null before it was read
 * @property {Map<string, readonly Named[]>} names of the reference lists already read, by kind
 * @property {Map<string, string>} previousPages address of a list page → address of the page before it
 * @property {Map<string, Counts>} counts of the lists shown, by their filters: pages after the first have them from here
 * @property {boolean} isSorted whether lists that can be sorted are
 */

/** Concurrent requests in `askEach`. */
const AT_ONCE = 2;

/** Records of a stream that are shown as JSON below the view: thousands would slow the page. */
const MAX_SHOWN = 25;

/** One view, from when it is opened until another replaces it. */
export class View {
  #known;
  #ended = new AbortController();

  /** @param {Known} known */
  constructor(known) {
    this.#known = known;
    this.requests = new RequestsPanel();
    this.signal = this.#ended.signal;
  }

  /** The service's time, in milliseconds since 1970. */
  now() {
    return this.#known.session.now();
  }

  /** The watermark of the latest list. */
  get watermark() {
    return this.#known.session.watermark;
  }

  /** State that other views of the same key share. */
  get known() {
    return this.#known;
  }

  /** Whether the key can read this kind of record. @param {string} kind */
  canRead(kind) {
    return this.#known.access?.kinds.some((allowed) => allowed === kind) === true;
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
    const body = await this.askUnlisted(target);
    this.requests.addResponse(target, body);
    return body;
  }

  /**
   * Sends a GET request that is not behind what the view shows. Throws like `Session.ask`.
   *
   * @param {string} target path with its query
   * @returns {Promise<any>} the response's body
   */
  askUnlisted(target) {
    return this.#known.session.ask(target, this.signal);
  }

  /** The key, and what it can read. @param {boolean} isListed below the view @returns {Promise<Key>} */
  readKey(isListed) {
    return isListed ? this.ask('/v1/key') : this.askUnlisted('/v1/key');
  }

  /**
   * Reads all records of a list, however many, and lists the request below the view. Throws like `Session.readStream`.
   *
   * @param {string} path
   * @param {Readonly<Record<string, string>>} parameters
   * @returns {Promise<any[]>}
   */
  async readAll(path, parameters) {
    const target = `${path}?${new URLSearchParams({ ...parameters, format: 'ndjson' }).toString()}`;
    this.requests.add(target);
    const records = await this.#readRecords(target);
    const others = records.length - MAX_SHOWN;
    this.requests.addResponse(target, [
      ...records.slice(0, MAX_SHOWN),
      ...(others > 0 ? [`… and ${formatNumber(others)} more`] : []),
    ]);
    return records;
  }

  /** @param {string} target @returns {Promise<any[]>} */
  async #readRecords(target) {
    const decoder = new TextDecoder();
    let text = '';
    for await (const piece of this.#known.session.readStream(target, 'application/x-ndjson', this.signal)) {
      text += decoder.decode(piece, { stream: true });
    }
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  }

  /**
   * Reads a list as CSV, and lists the request below the view. Throws like `Session.readStream`.
   *
   * @param {string} path
   * @param {URLSearchParams} parameters
   */
  readCsv(path, parameters) {
    const target = `${path}?${parameters.toString()}`;
    this.requests.add(target);
    return this.#known.session.readStream(target, 'text/csv', this.signal);
  }

  /**
   * Counts the records that match.
   *
   * @param {string} path
   * @param {URLSearchParams | Readonly<Record<string, string>>} filters
   * @returns {Promise<number>}
   */
  async count(path, filters) {
    /** @type {{ total: number }} */
    const { total } = await this.ask(path, filters);
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
   * All names of a reference list; requested once per session.
   *
   * @param {string} kind
   * @returns {Promise<readonly Named[]>}
   */
  async readNames(kind) {
    const names = this.#known.names.get(kind) ?? (await this.#readRecords(`/v1/${kind}?format=ndjson`));
    this.#known.names.set(kind, names);
    return names;
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

import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import type { Model, Served } from '../model/model.ts';
import type { ModelRequest } from '../model/requests.ts';
import { dataOf, listAllPages, type Get } from '../support/client.ts';
import type { TestPartner } from '../support/partners.ts';
import { pathOf } from './modelled-service.ts';

/** Long lists are read in larger pages, so that no request takes seconds. */
const MAX_PAGES = 60;

/** Sends one request as a partner, and compares the response with the model's. */
export class ResponseCheck {
  readonly #model: Model;
  readonly #get: Get;
  readonly #now: () => string;

  /** @param now returns the service's time, which determines `is_open`. */
  constructor(model: Model, get: Get, now: () => string) {
    this.#model = model;
    this.#get = get;
    this.#now = now;
  }

  async check(partner: TestPartner, request: ModelRequest): Promise<void> {
    if (request.type === 'list') return this.#checkList(partner, request);
    const response = await this.#get(pathOf(request), { key: partner.key });
    if (request.type === 'count') {
      const { total } = JSON.parse(response.body) as { total: number };
      expect(total).toBeGreaterThanOrEqual(this.#model.count(request.filters, partner.scope, this.#now(), 'min'));
      expect(total).toBeLessThanOrEqual(this.#model.count(request.filters, partner.scope, this.#now(), 'max'));
      return;
    }
    const expected = this.#model.detail(request.kind, request.id, partner.scope, this.#now());
    expect(response.status, response.body).toBe(expected === null ? 404 : 200);
    if (expected !== null) expectEqual(JSON.parse(response.body), expected);
  }

  async #checkList(partner: TestPartner, request: ModelRequest & { type: 'list' }): Promise<void> {
    const { kind, filters } = request;
    const now = this.#now();
    const mayReturn = this.#model.list(kind, filters, partner.scope, now, 'max');
    // They differ only for `updated_since`, for records that became visible more than once.
    const mustReturn =
      filters['updated_since'] === undefined ? mayReturn : this.#model.list(kind, filters, partner.scope, now, 'min');
    const smallestLimit = Math.min(100, Math.ceil(mayReturn.length / MAX_PAGES));
    const limits = request.limits.map((limit) => Math.max(limit, smallestLimit));
    const pages = await listAllPages(this.#get, pathOf(request), partner.key, limits);
    for (const page of pages) expect(page.status, page.body).toBe(200);
    const listed = dataOf(...pages);
    const received = new Set(listed.map(keyOf));
    const required = new Set(mustReturn.map(keyOf));
    expectEqual(
      listed,
      mayReturn.filter((record) => received.has(keyOf(record)) || required.has(keyOf(record))),
    );
    // Only the last page can be short, and none is empty.
    let left = listed.length;
    for (const [index, page] of pages.entries()) {
      const limit = limits[index % limits.length] ?? 0;
      expect(JSON.parse(page.body)).toMatchObject({ meta: { limit } });
      expect(dataOf(page)).toHaveLength(Math.min(limit, left));
      left -= limit;
    }
    expect(left).toBeLessThanOrEqual(0);
    expect(new Set(pages.map(({ headers }) => headers['x-sync-watermark'])).size).toBe(1);
  }
}

function keyOf(record: Served): unknown {
  return record['id'] ?? record['abbreviation'];
}

/** Vitest explains differences well, but is slow to establish equality. */
function expectEqual(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected);
}

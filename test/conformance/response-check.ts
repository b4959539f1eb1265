import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { Model, Served } from '../model/model.ts';
import { requestsAbout, type ModelRequest } from '../model/requests.ts';
import { dataOf, listAllPages, nextCursorOf, type Get, type HttpResponse } from '../support/client.ts';
import type { TestPartner } from '../support/partners.ts';
import { pathOf } from './modelled-service.ts';

/** Long lists are read in larger pages, so that no request takes seconds. */
const MAX_PAGES = 60;

/** Sends requests as a partner, and compares the responses with the model's. */
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

  /** @param timestamps those around which `updated_since` makes a difference. */
  async check(partner: TestPartner, timestamps: readonly string[], seed: number, numRuns: number): Promise<void> {
    await fc.assert(
      fc.asyncProperty(requestsAbout(this.#model, timestamps), (request) => this.#checkOne(partner, request)),
      { seed, numRuns, interruptAfterTimeLimit: 100_000, markInterruptAsFailure: true },
    );
  }

  async #checkOne(partner: TestPartner, request: ModelRequest): Promise<void> {
    if (request.type === 'list') {
      await this.#checkList(partner, request);
      return;
    }
    const response = await this.#get(pathOf(request), { key: partner.key });
    if (request.type === 'count') {
      const total = await this.#checkList(partner, { ...request, type: 'list', limits: [100] });
      expect(JSON.parse(response.body)).toEqual({ total });
      return;
    }
    const expected = this.#model.detail(request.kind, request.id, partner.scope, this.#now());
    expect(response.status, response.body).toBe(expected === null ? 404 : 200);
    if (expected !== null) expectEqual(JSON.parse(response.body), expected);
  }

  /** @returns the number of records in the list. */
  async #checkList(partner: TestPartner, request: ModelRequest & { type: 'list' }): Promise<number> {
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
    expect(pages.map(linkedCursor)).toEqual(pages.map(nextCursorOf));
    return listed.length;
  }
}

/** The cursor in the header that leads to the next page; null without one. */
function linkedCursor({ headers: { link } }: HttpResponse): string | null {
  const [, target = ''] = /^<(.*)>; rel="next"$/.exec(String(link)) ?? [];
  return link === undefined ? null : new URL(target, 'http://x').searchParams.get('cursor');
}

function keyOf(record: Served): unknown {
  return record['id'] ?? record['abbreviation'];
}

/** Vitest explains differences well, but is slow to establish equality. */
function expectEqual(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected);
}

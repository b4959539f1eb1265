import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import type { Model, Served } from '../model/model.ts';
import type { Question } from '../model/questions.ts';
import { walkList, type Ask } from '../support/client.ts';
import type { TestPartner } from '../support/partners.ts';
import { dataOf, pathOf } from './asking.ts';

/** Long lists are read in larger pages, so that no request takes seconds. */
const MAX_PAGES = 60;

/** Sends one request as a partner, and compares the response with the model's. */
export class AnswerCheck {
  readonly #model: Model;
  readonly #get: Ask;
  readonly #now: () => string;

  /** @param now returns the service's time, which determines `is_open`. */
  constructor(model: Model, get: Ask, now: () => string) {
    this.#model = model;
    this.#get = get;
    this.#now = now;
  }

  async check(partner: TestPartner, question: Question): Promise<void> {
    if (question.ask === 'list') return this.#checkWalk(partner, question);
    const answer = await this.#get(pathOf(question), { key: partner.key });
    if (question.ask === 'count') {
      const { total } = JSON.parse(answer.body) as { total: number };
      expect(total).toBeGreaterThanOrEqual(this.#model.count(question.filters, partner.scope, 'least'));
      expect(total).toBeLessThanOrEqual(this.#model.count(question.filters, partner.scope, 'most'));
      return;
    }
    const expected = this.#model.detail(question.kind, question.id, partner.scope, this.#now());
    expect(answer.status, answer.body).toBe(expected === null ? 404 : 200);
    if (expected !== null) expectEqual(JSON.parse(answer.body), expected);
  }

  async #checkWalk(partner: TestPartner, question: Question & { ask: 'list' }): Promise<void> {
    const { kind, filters } = question;
    const now = this.#now();
    const most = this.#model.list(kind, filters, partner.scope, now, 'most');
    // They differ only for `updated_since`, for records that became visible more than once.
    const least =
      filters['updated_since'] === undefined ? most : this.#model.list(kind, filters, partner.scope, now, 'least');
    const smallestLimit = Math.min(100, Math.ceil(most.length / MAX_PAGES));
    const limits = question.limits.map((limit) => Math.max(limit, smallestLimit));
    const pages = await walkList(this.#get, pathOf(question), partner.key, limits);
    for (const page of pages) expect(page.status, page.body).toBe(200);
    const walked = pages.flatMap(dataOf);
    const given = new Set(walked.map(keyOf));
    const required = new Set(least.map(keyOf));
    expectEqual(
      walked,
      most.filter((record) => given.has(keyOf(record)) || required.has(keyOf(record))),
    );
    // Only the last page can be short, and none is empty.
    let left = walked.length;
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

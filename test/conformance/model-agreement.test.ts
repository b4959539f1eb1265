import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Model, Served } from '../model/model.ts';
import { questionsAbout, type Question } from '../model/questions.ts';
import { TEST_NOW, type TestPartner, type TestService } from '../support/service.ts';
import { dataOf, pathOf, PARTNERS, startModelledService, type ModelledService } from './asking.ts';

/** In all, for the six partners: 2,100 questions. */
const QUESTIONS_OF_EACH = 350;

/** Long walks are asked for in larger pages, so that no question takes seconds. */
const MOST_PAGES = 60;

let started: ModelledService;
let service: TestService;
let model: Model;

beforeAll(async () => {
  started = await startModelledService(1);
  ({ service, model } = started);
}, 120_000);
afterAll(() => started.close());

test.each(PARTNERS)(
  'every list, count and record that the partner "$name" asks for is what plain filters over all records give',
  async ({ name }) => {
    const partner = service.partner(name);
    const asked = questionsAbout(model, eventsOf(partner));
    await fc.assert(
      fc.asyncProperty(asked, (question) => checkAnswer(partner, question)),
      { seed: 20_260_415, numRuns: QUESTIONS_OF_EACH, interruptAfterTimeLimit: 100_000, markInterruptAsFailure: true },
    );
  },
  120_000,
);

/** The instants around which `updated_since` decides something. */
function eventsOf({ scope }: TestPartner): string[] {
  const granted = [scope.everythingSince, ...Object.values(scope.leadEntities), ...Object.values(scope.coops)];
  return [...service.published.map(({ publishedAt }) => publishedAt), ...granted.filter((at) => at !== null)];
}

async function checkAnswer(partner: TestPartner, question: Question): Promise<void> {
  if (question.ask === 'list') return checkWalk(partner, question);
  const answer = await service.get(pathOf(question), { key: partner.key });
  if (question.ask === 'count') {
    const { total } = JSON.parse(answer.body) as { total: number };
    expect(total).toBeGreaterThanOrEqual(model.count(question.filters, partner.scope, 'least'));
    expect(total).toBeLessThanOrEqual(model.count(question.filters, partner.scope, 'most'));
    return;
  }
  const expected = model.detail(question.kind, question.id, partner.scope, TEST_NOW);
  expect(answer.status, answer.body).toBe(expected === null ? 404 : 200);
  if (expected !== null) expectEqual(JSON.parse(answer.body), expected);
}

async function checkWalk(partner: TestPartner, question: Question & { ask: 'list' }): Promise<void> {
  const { kind, filters } = question;
  const most = model.list(kind, filters, partner.scope, TEST_NOW, 'most');
  // The two differ for `updated_since` only, and there where a record became visible more than once.
  const least =
    filters['updated_since'] === undefined ? most : model.list(kind, filters, partner.scope, TEST_NOW, 'least');
  const smallestLimit = Math.min(100, Math.ceil(most.length / MOST_PAGES));
  const limits = question.limits.map((limit) => Math.max(limit, smallestLimit));
  const pages = await service.walk(pathOf(question), partner.key, limits);
  for (const page of pages) expect(page.status, page.body).toBe(200);
  const walked = pages.flatMap(dataOf);
  const given = new Set(walked.map(keyOf));
  const required = new Set(least.map(keyOf));
  expectEqual(
    walked,
    most.filter((record) => given.has(keyOf(record)) || required.has(keyOf(record))),
  );
  // No page is short but the last, and none follows that would be empty.
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

function keyOf(record: Served): unknown {
  return record['id'] ?? record['abbreviation'];
}

/** Vitest's comparison explains a difference, but is slow at finding that there is none. */
function expectEqual(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected);
}

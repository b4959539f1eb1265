import { sql } from 'kysely';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { MAX_PAGE_BYTES } from '../../src/paging/pages.ts';
import { idsOf } from '../support/client.ts';
import { contract, publishLines, SMALL_CATALOG, solicitation, supplier } from '../support/publishing.ts';
import { serviceForAllTests } from '../support/service.ts';
import { changeStored } from '../support/stored-catalog.ts';

const MB = 1_000_000;

/** More than one batch of a list that SQLite reads in batches. */
const SOLICITATIONS = 9_000;

/** An upper bound of a page's size without its records. */
const ENVELOPE_BYTES = 1_000;

const idOf = (kind: string, index: number): string => `${kind}_${String(index).padStart(5, '0')}`;
const START_MS = Date.now();

/** Sizes in megabytes, by record number. Some exceed a page, as in a database from before there were limits. */
const CONTRACT_SIZES = new Map([
  [0, 9],
  ...Array.from({ length: 20 }, (_, index) => [index + 10, 1] as const),
  [40, 9],
  [41, 7.9],
  [42, 0.2],
  [59, 10],
]);
const CONTRACTS = 60;
const LATE = '2031-01-01T00:00:00Z';
const isLate = (index: number): boolean => index % 300 === 7;

const service = serviceForAllTests({ clock: Date.now, partners: [{ name: 'all', everything: true }] });
beforeAll(async () => {
  const { database } = service;
  const publish = (files: Parameters<typeof publishLines>[1], hours: number) =>
    publishLines(database, files, { clock: () => START_MS + hours * 3_600_000 });
  await publish({ ...SMALL_CATALOG, contracts: [], solicitations: [] }, 1);
  await publish(
    {
      suppliers: Array.from({ length: 60 }, (_, index) => supplier(idOf('sup', index))),
      contracts: Array.from({ length: CONTRACTS }, (_, index) => contract(idOf('ctr', index))),
      solicitations: Array.from({ length: SOLICITATIONS }, (_, index) => ({
        ...solicitation(idOf('sol', index), index + 1),
        close_at: isLate(index) ? LATE : '2030-01-01T00:00:00Z',
      })),
    },
    2,
  );
  await changeStored(database, async ({ kysely }) => {
    for (const [index, size] of CONTRACT_SIZES) await grow(kysely, 'contracts', idOf('ctr', index), size);
    for (let index = 0; index < 60; index += 1) await grow(kysely, 'suppliers', idOf('sup', index), 0.25);
    for (let index = 0; index < SOLICITATIONS; index += 1) {
      if (isLate(index)) await grow(kysely, 'solicitations', idOf('sol', index), 1);
    }
  });
  await service.noticeChanges();
}, 120_000);

/** Enlarges a stored record to a size from before there were limits. */
async function grow(
  kysely: Database['kysely'],
  table: 'contracts' | 'suppliers' | 'solicitations',
  id: string,
  megabytes: number,
): Promise<void> {
  const before = table === 'solicitations' ? '"title":"' : `"id":"${id}","name":"`;
  await sql`update ${sql.table(`catalog.${table}`)}
    set document = replace(document, ${before}, ${before + 'x'.repeat(megabytes * MB)}) where id = ${id}`.execute(
    kysely,
  );
}

/** All pages of a list: the ids on each, and its size. */
async function walk(path: string): Promise<{ ids: string[]; bytes: number }[]> {
  const pages = await service.listAllPages(path, service.partner('all').key, [100]);
  for (const { status, body } of pages) expect(status, body.slice(0, 200)).toBe(200);
  return pages.map((page) => ({ ids: idsOf(page), bytes: Buffer.byteLength(page.body) }));
}

const since = encodeURIComponent(new Date(START_MS + 1.5 * 3_600_000).toISOString());

describe.each(['', `?updated_since=${since}`])('with large records, on pages of 100%s', (filter) => {
  test.each([
    ['/v1/contracts', Array.from({ length: CONTRACTS }, (_, index) => idOf('ctr', index))],
    ['/v1/suppliers', Array.from({ length: 60 }, (_, index) => idOf('sup', index))],
  ])('a full listing of %s returns each record once, on pages within the size limit', async (path, ids) => {
    const expected = path === '/v1/suppliers' && filter === '' ? [...ids, 'sup_1', 'sup_2'] : ids;
    const pages = await walk(`${path}${filter}`);
    expect(pages.flatMap((page) => page.ids)).toEqual(expected.sort());
    expect(pages.length).toBeGreaterThan(1);
    for (const page of pages) {
      if (page.ids.length !== 1) expect(page.bytes).toBeLessThanOrEqual(MAX_PAGE_BYTES + 100 * ENVELOPE_BYTES);
    }
  });
});

test('a page contains as many records as fit, and a record larger than a page has one of its own', async () => {
  const sizes = (await walk('/v1/contracts')).map(({ ids }) => ids.length);
  // 9 MB; 9 small and 8 of 1 MB; 8 of 1 MB; 4 of 1 MB and 10 small; 9 MB; 7.9 MB and 0.2 MB and 16 small; 10 MB.
  expect(sizes).toEqual([1, 17, 8, 14, 1, 18, 1]);
});

test('a page of scattered records ends when it is full', async () => {
  const pages = await walk(`/v1/solicitations?closing_after=${LATE}`);
  const expected = Array.from({ length: SOLICITATIONS }, (_, index) => index).filter(isLate);
  expect(pages.flatMap(({ ids }) => ids)).toEqual(expected.map((index) => idOf('sol', index)));
  expect(pages.map(({ ids }) => ids.length)).toEqual([8, 8, 8, 6]);
});

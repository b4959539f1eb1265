import { beforeEach, expect, test } from 'vitest';
import { KINDS } from '../../src/kinds.ts';
import { contract, publishLines, SMALL_CATALOG, supplier, type ImportLines } from '../support/publishing.ts';
import { serviceForEachTest } from '../support/service.ts';
import { FeedCopy, idInCursor, insertDepartures } from './feed-copy.ts';

let nowMs = Date.parse('2026-06-01T12:00:00.000Z');
const clock = (): number => (nowMs += 10_000);
/** A copy of each partner, from before the changes that a test makes. */
let copies: Record<'all' | 'a' | 'ax', FeedCopy>;

const service = serviceForEachTest({
  catalog: SMALL_CATALOG,
  clock,
  partners: [
    { name: 'all', everything: true },
    { name: 'a', leadEntities: ['le_a'] },
    { name: 'ax', leadEntities: ['le_a'], coops: ['co_x'] },
  ],
});

async function makeCopy(name: string): Promise<FeedCopy> {
  const copy = new FeedCopy(service.partner(name).key);
  await copy.sync(service.get);
  return copy;
}
beforeEach(async () => {
  copies = { all: await makeCopy('all'), a: await makeCopy('a'), ax: await makeCopy('ax') };
});

const numbered = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, number) => `${prefix}_${String(number).padStart(5, '0')}`);

/** Publishes a release, and stores departures with it. */
async function publish(lines: ImportLines, departures: Parameters<typeof insertDepartures>[1]): Promise<void> {
  await publishLines(service.database, lines, { clock });
  await insertDepartures(service.database, departures);
  await service.noticeChanges();
}

const leadEntity = (owner: string) => (id: string) => ({ id, owner: `lead_entity:${owner}` });

test('each of more removals than one statement examines is listed, of several owners, and none from before', async () => {
  const old = numbered('gone_a', 3_000).map((id) => ({ ...leadEntity('le_a')(id), release: 1 }));
  const ids = numbered('gone_b', 5_210);
  const left = ids.flatMap((id, index) => [
    ...(index % 3 > 0 ? [leadEntity('le_a')(id)] : []),
    ...(index % 3 < 2 ? [{ id, owner: 'coop:co_x' }] : []),
    { id, owner: 'everything' },
  ]);
  const inPages = await makeCopy('ax');
  await publish({ coops: [{ id: 'co_z', name: 'Z' }] }, [...old, ...left]);
  const removed = ids.map((id) => ({ kind: 'contracts', id, removed: true }));
  const pages = await inPages.sync(service.get, { limit: 100 });
  expect(pages.flatMap(({ items }) => items)).toEqual(removed);
  expect(pages).toHaveLength(Math.ceil(ids.length / 100));
  for (const copy of [copies.all, copies.ax]) {
    const pieces = await copy.sync(service.get, { limit: 1_700, format: 'ndjson' });
    expect(pieces.at(-1)?.status).toBe(200);
    expect(pieces.flatMap(({ items }) => items)).toEqual(removed);
  }
});

test('no cursor holds an id that its response or one before does not show, and what others lost adds no page', async () => {
  const { key } = service.partner('ax');
  const secrets = numbered('SECRET', 6_000).flatMap((id) => [leadEntity('le_b')(id), { id, owner: 'everything' }]);
  // ctr_1 is still visible by its coop.
  const own = ['ctr_1', 'gone_1', 'gone_2'].map(leadEntity('le_a'));
  await publish({ contracts: [contract('ctr_3')], suppliers: [{ ...supplier('sup_1'), about: 'New' }] }, [
    ...secrets,
    ...own,
  ]);
  const since = `updated_since=${String(copies.ax.watermark)}`;
  let cursors = 0;
  for (const path of ['changes?', `changes?${since}&`, ...KINDS.map((list) => `${list}?`), `contracts?${since}&`]) {
    for (const format of ['json', 'ndjson']) {
      const seen = new Set<string | null | undefined>([null, 'ctr_1']);
      let cursor: string | null = null;
      for (let page = 0; page === 0 || cursor !== null; page += 1) {
        const query = new URLSearchParams({ format, limit: '1', ...(cursor !== null && { cursor }) }).toString();
        const { body, headers, status } = await service.get(`/v1/${path}${query}`, { key });
        expect(status, body).toBe(200);
        for (const [, id] of body.matchAll(/"(?:id|abbreviation)":"([^"]+)"/g)) seen.add(id);
        const next = /"next_cursor":"([^"]+)"/.exec(body) ?? /[?&]cursor=([^&>]+)/.exec(String(headers['link']));
        cursor = next?.[1] ?? null;
        if (cursor === null) continue;
        cursors += 1;
        expect(page, `${path} as ${format}`).toBeLessThan(10);
        expect(seen, `${path} as ${format}`).toContain(idInCursor(cursor));
      }
    }
  }
  expect(cursors).toBeGreaterThan(8);
});

test('departures that a listing examines count as records do, and those of others cost nothing', async () => {
  const since = { updated_since: copies.a.watermark ?? '' };
  const request = async (query: Readonly<Record<string, string>>): Promise<{ left: number; cursor: string }> => {
    const target = `/v1/changes?${new URLSearchParams({ ...since, ...query }).toString()}`;
    const { body, headers } = await service.get(target, { key: service.partner('a').key });
    const left = Number(/r=(\d+)/.exec(String(headers['ratelimit']))?.[1]);
    return { left, cursor: /"next_cursor":"([^"]+)"/.exec(body)?.[1] ?? '' };
  };
  const ids = numbered('gone', 6_000);
  await publish({ coops: [{ id: 'co_y', name: 'Y' }] }, ids.map(leadEntity('le_b')));
  const { left } = await request({ format: 'ndjson' });
  expect((await request({ limit: '1' })).left).toBe(left - 1);
  const old = numbered('a_old', 10_000).map((id) => ({ ...leadEntity('le_a')(id), release: 1 }));
  await publish({ coops: [{ id: 'co_z', name: 'Z' }] }, [...old, ...ids.map(leadEntity('le_a'))]);
  // One statement is free. Then 13,190 are examined to find the first, twice as many in each statement up to 5,000.
  const first = await request({ limit: '1' });
  expect(first.left).toBe(left - 1 - 7);
  const second = await request({ limit: '1', cursor: first.cursor });
  expect(second.left).toBe(first.left - 1);
  // The 5,000 of the first statement, and all 16,000.
  await request({ format: 'ndjson' });
  expect((await request({ limit: '1', cursor: first.cursor })).left).toBe(second.left - 11 - 1);
});

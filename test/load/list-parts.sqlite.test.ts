import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientOf } from '../../src/paging/asking.ts';
import { createTestApp, type TestApp } from '../http/test-app.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines, solicitation } from '../support/publishing.ts';

/** Several times what one statement looks at. */
const RECORDS = 30_000;
const LEAD_ENTITIES = Array.from({ length: 5 }, (_, index) => `le_${index}`);

/** Records in which what is asked for lies near the beginning, in the middle, at the end, everywhere or nowhere. */
const records = Array.from({ length: RECORDS }, (_, index) => ({
  ...solicitation(`sol_${String(index).padStart(6, '0')}`, index + 1),
  title: ['common', index % 2 === 0 ? 'even' : 'odd', index % 4_001 === 17 ? 'rare' : 'plain'].join(' '),
  // The first are spread over all; the last belong to one.
  lead_entity_id: LEAD_ENTITIES[index < 9_000 ? index % 4 : 4],
  status: index % 3 === 0 ? 'closed' : 'open',
  close_at: index % 1_000 === 999 ? null : new Date(Date.UTC(2030, 0, 1) + index * 60_000).toISOString(),
}));
type Filter = (record: (typeof records)[number]) => boolean;
const closesFrom =
  (index: number): Filter =>
  ({ close_at }) =>
    close_at !== null && close_at >= (records[index]?.close_at ?? '');

let service: TestApp;
let narrowKey: string;
const NARROW = ['le_1', 'le_4'];

beforeAll(async () => {
  service = await createTestApp({
    config: { requestsPerMinute: 1_000_000 },
    addRoutes(app) {
      app.get('/v1/until-gone', { config: { kind: 'contracts', parameters: {} } }, async (request) => {
        const client = clientOf(request);
        client.throwIfGone();
        begun.resolve(null);
        for (;;) {
          await delay(5);
          try {
            client.throwIfGone();
          } catch (error) {
            noticed.resolve(String(error));
            throw error;
          }
        }
      });
    },
  });
  await publishLines(service.database, {
    'lead-entities': LEAD_ENTITIES.map((id) => ({ id, name: id })),
    solicitations: records,
  });
  narrowKey = (await makePartner(service.database, Date.now, { name: 'narrow', leadEntities: NARROW })).key;
}, 120_000);
afterAll(() => service.close());

const begun = Promise.withResolvers<null>();
const noticed = Promise.withResolvers<string>();

async function get<T>(path: string, key = service.key): Promise<T> {
  const answer = await service.app.inject({ url: path, headers: { authorization: `Bearer ${key}` } });
  expect(answer.statusCode, answer.payload).toBe(200);
  return answer.json<T>();
}

interface List {
  data: { id: string }[];
  meta: { next_cursor: string | null };
}

async function walk(path: string, key: string): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const page: List = await get(`${path}&limit=97${cursor === null ? '' : `&cursor=${cursor}`}`, key);
    ids.push(...page.data.map(({ id }) => id));
    cursor = page.meta.next_cursor;
  } while (cursor !== null);
  return ids;
}

const at = (index: number): string => records[index]?.close_at ?? '';

describe('a list that is read in parts', () => {
  test.each<[string, Filter]>([
    [`closing_after=${at(29_900)}`, closesFrom(29_900)],
    [`closing_after=${at(100)}&closing_before=${at(180)}`, (it) => closesFrom(100)(it) && !closesFrom(181)(it)],
    ['closing_after=2099-01-01T00:00:00Z', () => false],
    ['q=rare', ({ title }) => title.includes('rare')],
    ['q=common+even', ({ title }) => title.includes('even')],
    [`q=common&closing_after=${at(29_900)}`, (it) => closesFrom(29_900)(it)],
    ['q=even+odd', () => false],
    [
      `status=closed&closing_before=${at(5)}`,
      (it) => it.status === 'closed' && it.close_at !== null && it.close_at <= at(5),
    ],
    [`lead_entity=le_4&closing_after=${at(29_900)}`, (it) => it.lead_entity_id === 'le_4' && closesFrom(29_900)(it)],
    ['lead_entity=le_0&status=open', (it) => it.lead_entity_id === 'le_0' && it.status === 'open'],
  ])('gives what plain filters give, to each scope, and so do counts: %s', async (query, filter) => {
    const expected = records.filter(filter);
    expect(await walk(`/v1/solicitations?${query}`, service.key)).toEqual(expected.map(({ id }) => id));
    expect(await get(`/v1/solicitations/count?${query}`)).toEqual({ total: expected.length });
    const visible = expected.filter(({ lead_entity_id }) => NARROW.includes(lead_entity_id ?? ''));
    expect(await walk(`/v1/solicitations?${query}`, narrowKey)).toEqual(visible.map(({ id }) => id));
    expect(await get(`/v1/solicitations/count?${query}`, narrowKey)).toEqual({ total: visible.length });
  });

  /** Turns of the event loop while a question is answered. */
  async function turnsDuring(path: string): Promise<number> {
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await get(`/v1/solicitations${path}`);
    isOver = true;
    return turns;
  }

  test.each([
    ['?closing_after=2099-01-01T00:00:00Z', '?limit=1'],
    ['/count?q=common', '/count?q=rare'],
  ])('lets others be answered between the parts: %s', async (inParts, atOnce) => {
    await get('/v1/solicitations');
    expect(await turnsDuring(inParts)).toBeGreaterThan(await turnsDuring(atOnce));
  });

  test('counts one state of the records, whatever is published in between', async () => {
    const [first, last] = [records[0], records.at(-1)];
    for (let round = 0; round < 25; round += 1) {
      const isEven = round % 2 === 0;
      const published = publishLines(service.database, {
        solicitations: [
          { ...first, title: isEven ? 'nothing' : 'common' },
          { ...last, title: isEven ? 'common' : 'nothing' },
        ],
      });
      // All but one, before and after: the one is either the first or the last.
      const publishing = { isOver: false };
      void published.finally(() => (publishing.isOver = true));
      const totals = new Set<number>();
      while (!publishing.isOver) totals.add((await get<{ total: number }>('/v1/solicitations/count?q=common')).total);
      await published;
      if (round > 0) expect([...totals]).toEqual([RECORDS - 1]);
    }
  });

  test('is not read to its end for a client that went away', async () => {
    const port = await service.listen();
    const socket = connect(port, '127.0.0.1');
    socket.write(`GET /v1/until-gone HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n\r\n`);
    await begun.promise;
    socket.destroy();
    expect(await noticed.promise).toContain('connection was closed');
  });
});

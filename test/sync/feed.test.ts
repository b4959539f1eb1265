import { sql } from 'kysely';
import { beforeEach, describe, expect, test } from 'vitest';
import { grant, revoke } from '../../src/access/grant-admin.ts';
import { resumePartner, setPartner, suspendPartner } from '../../src/access/partner-admin.ts';
import { encodeCursor, readCursorSecret } from '../../src/http/request/page-parameters.ts';
import { recover } from '../../src/recovery/recover.ts';
import {
  contract,
  publishLines,
  SMALL_CATALOG,
  solicitation,
  supplier,
  type ImportLines,
} from '../support/publishing.ts';
import { idsOf } from '../support/client.ts';
import { serviceForEachTest } from '../support/service.ts';
import { FeedCopy, getChanges, type FeedPage } from './feed-copy.ts';

let nowMs = Date.parse('2026-06-01T12:00:00.000Z');
const clock = (): number => (nowMs += 10_000);
const DAY_MS = 86_400_000;
let copies: Record<string, FeedCopy>;

const CATALOG = {
  ...SMALL_CATALOG,
  suppliers: [...SMALL_CATALOG.suppliers, supplier('sup_idle')],
} as const;

const service = serviceForEachTest({
  catalog: CATALOG,
  clock,
  partners: [
    { name: 'all', everything: true },
    { name: 'a', leadEntities: ['le_a'] },
    { name: 'x', coops: ['co_x'] },
  ],
});
beforeEach(async () => {
  copies = {};
  for (const name of ['all', 'a', 'x']) {
    copies[name] = new FeedCopy(service.partner(name).key);
    await changes(name);
  }
});

const publish = (lines: ImportLines) => publishLines(service.database, lines, { clock });
/** SQLite keeps the events of the last two catalogs. */
async function keepTwoLater(): Promise<void> {
  for (const name of ['1', '2']) await publish({ coops: [{ id: 'co_later', name }] });
}
const replace = (lines: ImportLines) =>
  publishLines(service.database, lines, { clock, replace: true, allowRemovals: true });

const describeChanges = (pages: readonly FeedPage[]): string[] =>
  pages.flatMap(({ items }) => items.map(({ id, removed }) => `${removed === true ? '-' : '+'}${id}`));

/** The changes in the next listing: `+` and the id of a record, `-` and that of a removal. */
async function changes(name: string): Promise<string[]> {
  await service.noticeChanges();
  const pages = await (copies[name] ?? expect.fail()).sync(service.get);
  const [first] = pages;
  return [...(first?.meta?.reset === true ? ['reset'] : []), ...describeChanges(pages)];
}

test('the first listing has every record, whole, by kind and then by id', async () => {
  const { items, meta } = await getChanges(service.get, service.partner('all').key, {});
  expect(items.map(({ kind, id }) => `${kind} ${id}`)).toEqual([
    ...['contracts ctr_1', 'contracts ctr_2', 'solicitations sol_1', 'solicitations sol_2'],
    ...['suppliers sup_1', 'suppliers sup_2', 'suppliers sup_idle'],
  ]);
  expect(meta).toMatchObject({ next_cursor: null, reset: true });
  for (const { kind, id, record } of items) {
    const { body } = await service.get(`/v1/${kind}/${id}`, { key: service.partner('all').key });
    expect(record).toEqual(JSON.parse(body));
  }
});

test('as lines and as pages the feed has the same items, and the last line has the watermark', async () => {
  const { key } = service.partner('a');
  const whole = await getChanges(service.get, key, { format: 'ndjson' });
  const page = await getChanges(service.get, key, {});
  expect(whole.items).toEqual(page.items);
  const totals = { contracts: 1, solicitations: 1, suppliers: 1 };
  expect(whole.meta).toEqual({ next_cursor: null, reset: true, watermark: page.meta?.watermark, totals });
  const piece = await getChanges(service.get, key, { format: 'ndjson', limit: '2' });
  expect(piece.items).toHaveLength(2);
  expect(piece.meta).toMatchObject({ reset: true, watermark: null });
  const copy = new FeedCopy(key);
  const pages = await copy.sync(service.get, { format: 'ndjson', limit: 1 });
  expect(pages.flatMap(({ items }) => items)).toEqual(whole.items);
});

test('totals count what the partner sees of the listed kinds, and are null if a page was of another snapshot', async () => {
  const { key } = service.partner('x');
  const counts = { all: [2, 2, 3], a: [1, 1, 1], x: [1, 0, 1] };
  for (const [name, [contracts, solicitations, suppliers]] of Object.entries(counts)) {
    const { meta } = await getChanges(service.get, service.partner(name).key, { kinds: 'suppliers,contracts' });
    expect(meta?.totals, name).toEqual({ contracts, suppliers });
    const { meta: next } = await getChanges(service.get, service.partner(name).key, {
      updated_since: copies[name]?.watermark ?? '',
      format: 'ndjson',
    });
    expect(next?.totals, name).toEqual({ contracts, solicitations, suppliers });
  }
  const readAround = async (change: () => Promise<unknown>): Promise<FeedPage | undefined> => {
    const copy = new FeedCopy(key);
    await copy.read(service.get, { limit: 1 });
    await change();
    return (await copy.sync(service.get)).at(-1);
  };
  const grantX = () => grant(service.database, clock, 'x', { everything: false, leadEntities: ['le_a'], coops: [] });
  const grantA = () => grant(service.database, clock, 'a', { everything: false, leadEntities: [], coops: ['co_x'] });
  expect(await readAround(() => publish({ coops: [{ id: 'co_later', name: 'Later' }] }))).toMatchObject({
    meta: { totals: null },
  });
  expect(await readAround(grantX)).toMatchObject({ meta: { totals: null } });
  const totals = { contracts: 1, solicitations: 1, suppliers: 1 };
  expect(await readAround(grantA)).toMatchObject({ meta: { totals } });
});

test('a listing that a service of version 2.0 began continues, and ends without totals', async () => {
  const { key, name } = service.partner('a');
  const { database } = service;
  const { id: partnerId } = await database.kysely
    .selectFrom('access.partners')
    .select('id')
    .where('name', '=', name)
    .executeTakeFirstOrThrow();
  const binding = { endpoint: '/v1/changes', partnerId, filters: {} };
  const watermark = copies['a']?.watermark ?? '';
  const position = { after: 'complete contracts,solicitations 1 ', watermark };
  const cursor = encodeCursor(await readCursorSecret(database), binding, position);
  const { items, meta } = await getChanges(service.get, key, { cursor });
  expect(items.map(({ id }) => id)).toEqual(['sol_1']);
  expect(meta).toMatchObject({ next_cursor: null, reset: true, watermark, totals: null });
});

test('the feed has details after its records were streamed as a list', async () => {
  const { key } = service.partner('all');
  await service.get('/v1/solicitations?format=ndjson', { key });
  const { items } = await getChanges(service.get, key, { kinds: 'solicitations', format: 'ndjson' });
  expect(items[0]?.record).toHaveProperty('notices');
});

test('with nothing new a listing is empty, and 304 with the tag of the last one', async () => {
  const { key } = service.partner('a');
  for (const format of ['json', 'ndjson']) {
    const url = `/v1/changes?format=${format}&updated_since=${copies['a']?.watermark ?? ''}`;
    const first = await service.get(url, { key });
    expect(first.status).toBe(200);
    const again = await service.get(url, { key, headers: { 'If-None-Match': String(first.headers.etag) } });
    expect(again).toMatchObject({ status: 304, body: '' });
  }
  expect(await changes('a')).toEqual([]);
});

describe('lists as changed', () => {
  test('a solicitation with a new notice, which its list does not', async () => {
    const list = `/v1/solicitations?updated_since=${copies['a']?.watermark ?? ''}`;
    const notice = { id: 1, title: 'Addendum', body: '', created_at: '2026-01-01T00:00:00Z' };
    await publish({ solicitations: [{ ...solicitation('sol_1', 1), notices: [notice] }] });
    expect(await changes('a')).toEqual(['+sol_1']);
    expect(idsOf(await service.get(list, { key: service.partner('a').key }))).toEqual([]);
    expect(await changes('x')).toEqual([]);
  });

  test('records that embed a renamed lead entity, also if only their details changed last', async () => {
    const notice = { id: 1, title: 'Addendum', body: '', created_at: '2026-01-01T00:00:00Z' };
    await publish({ solicitations: [{ ...solicitation('sol_1', 1), notices: [notice] }] });
    await changes('a');
    await publish({ 'lead-entities': [{ id: 'le_a', name: 'Town of A' }] });
    expect(await changes('a')).toEqual(['+ctr_1', '+sol_1']);
  });

  test('the records of a new grant', async () => {
    await grant(service.database, clock, 'a', { everything: false, leadEntities: ['le_b'], coops: [] });
    expect(await changes('a')).toEqual(['+ctr_2', '+sol_2', '+sup_2']);
  });

  test('no flip of is_open by time', async () => {
    nowMs = Date.parse('2031-01-01T00:00:00.000Z');
    expect(await changes('a')).toEqual([]);
    nowMs = Date.parse('2026-07-01T00:00:00.000Z');
  });
});

describe('lists as removed', () => {
  test('a deleted contract, with the supplier that only it showed, to those who saw them', async () => {
    await replace({ contracts: CATALOG.contracts.filter(({ id }) => id !== 'ctr_1') });
    expect(await changes('a')).toEqual(['-ctr_1', '-sup_1']);
    expect(await changes('x')).toEqual(['-ctr_1', '-sup_1']);
    expect(await changes('all')).toEqual(['-ctr_1']);
  });

  test('and records in the order of their ids, also on pages of one', async () => {
    await replace({ contracts: [{ ...contract('ctr_2'), lead_entity_id: 'le_b', name: 'Renamed' }] });
    await service.noticeChanges();
    const pages = await (copies['all'] ?? expect.fail()).sync(service.get, { limit: 1 });
    expect(describeChanges(pages).filter((change) => change.includes('ctr'))).toEqual(['-ctr_1', '+ctr_2']);
  });

  test('a supplier that is deleted with its last contract', async () => {
    await replace({
      contracts: CATALOG.contracts.filter(({ id }) => id !== 'ctr_1'),
      suppliers: CATALOG.suppliers.filter(({ id }) => id !== 'sup_1'),
    });
    for (const name of ['a', 'x', 'all']) expect(await changes(name), name).toEqual(['-ctr_1', '-sup_1']);
  });

  test('a deleted supplier without a contract, only to those who see everything', async () => {
    await replace({ suppliers: CATALOG.suppliers.filter(({ id }) => id !== 'sup_idle') });
    expect(await changes('all')).toEqual(['-sup_idle']);
    expect(await changes('a')).toEqual([]);
  });

  test('a solicitation that becomes a draft, and nothing that was only ever one', async () => {
    await publish({ solicitations: [{ ...solicitation('sol_1', 1), status: 'draft' }] });
    expect(await changes('a')).toEqual(['-sol_1']);
    const draft = { ...solicitation('sol_9', 9), status: 'draft' };
    await publish({ solicitations: [draft] });
    await replace({ solicitations: CATALOG.solicitations });
    expect(await changes('all')).toEqual(['+sol_1']);
  });

  test('what moved to another owner, and not if it is visible by another grant', async () => {
    await publish({
      contracts: [{ ...contract('ctr_1'), lead_entity_id: 'le_b' }],
      solicitations: [{ ...solicitation('sol_1', 1), lead_entity_id: 'le_b' }],
    });
    expect(await changes('a')).toEqual(['-ctr_1', '-sol_1', '-sup_1']);
    expect(await changes('x')).toEqual(['+ctr_1']);
    expect(await changes('all')).toEqual(['+ctr_1', '+sol_1']);
  });

  test('nothing that a coop still shows', async () => {
    await grant(service.database, clock, 'a', { everything: false, leadEntities: [], coops: ['co_x'] });
    await changes('a');
    await publish({ contracts: [{ ...contract('ctr_1'), lead_entity_id: 'le_b' }] });
    expect(await changes('a')).toEqual(['+ctr_1']);
  });

  test('nothing that left before its owner was granted', async () => {
    await replace({ contracts: CATALOG.contracts.filter(({ id }) => id !== 'ctr_2') });
    await grant(service.database, clock, 'a', { everything: false, leadEntities: ['le_b'], coops: [] });
    expect(await changes('a')).toEqual(['+sol_2']);
  });

  test('nothing that came back meanwhile', async () => {
    await replace({ contracts: [] });
    await publish({ contracts: CATALOG.contracts });
    expect(await changes('a')).toEqual(['+ctr_1', '+sup_1']);
  });
});

describe('lists everything again', () => {
  test.each([
    ['no watermark', null],
    ['a watermark of another time', -1],
    ['a timestamp that is no watermark', 7],
  ])('with %s', async (_case, laterMs) => {
    const watermark = Date.parse(copies['a']?.watermark ?? '');
    const parameters = laterMs === null ? {} : { updated_since: new Date(watermark + laterMs).toISOString() };
    const { items, meta } = await getChanges(service.get, service.partner('a').key, parameters);
    expect(items).toHaveLength(3);
    expect(meta?.reset).toBe(true);
  });

  test.each([
    ['a grant ended', () => revoke(service.database, clock, 'a', { everything: false, leadEntities: ['le_a'], coops: [] }), 0],
    ['the partner was resumed after a release', async () => {
      await suspendPartner(service.database, clock, 'a');
      await publish({ suppliers: [supplier('sup_new')] });
      await resumePartner(service.database, clock, 'a');
    }, 3],
    ['the partner was resumed that a restore suspended', async () => {
      await suspendPartner(service.database, clock, 'a');
      await sql`update access.partners set suspended_at = '2026-05-01T00:00:00.000Z' where name = 'a'`.execute(
        service.database.kysely,
      );
      await resumePartner(service.database, clock, 'a');
    }, 3],
    ['its kinds changed', () => setPartner(service.database, clock, 'a', { kinds: ['solicitations'] }), 1],
    ['a recovery', () => recover(service.database, { clock }), 3],
    ['removals since then were deleted', async () => {
      await publish({ suppliers: [supplier('sup_new')] });
      await replace({ suppliers: CATALOG.suppliers });
      await keepTwoLater();
      nowMs += 91 * DAY_MS;
      await publishLines(service.database, { coops: [{ id: 'co_z', name: 'Z' }] }, { clock, removalsDays: 90 });
    }, 3],
  ] as const)('if %s', async (_case, change, count) => {
    await change();
    const [reset, ...listed] = await changes('a');
    expect(reset).toBe('reset');
    expect(listed).toHaveLength(count);
    // Once is enough.
    expect(await changes('a')).toEqual([]);
  }); // prettier-ignore

  test.each([
    ['the partner was resumed before any release', async () => {
      await suspendPartner(service.database, clock, 'a');
      await resumePartner(service.database, clock, 'a');
    }],
    ['a grant ended that was given when everything was', async () => {
      const grants = { everything: false, leadEntities: ['le_b'], coops: [] };
      await grant(service.database, clock, 'a', { everything: true, leadEntities: [], coops: [] });
      await changes('a');
      await grant(service.database, clock, 'a', grants);
      await revoke(service.database, clock, 'a', grants);
    }],
    ['its kinds changed that are not in the feed', () => setPartner(service.database, clock, 'a', { kinds: ['contracts', 'solicitations', 'suppliers'] })],
    ['its limit changed', () => setPartner(service.database, clock, 'a', { requestsPerMinute: 1_000 })],
  ] as const)('not if %s', async (_case, change) => {
    await change();
    expect(await changes('a')).toEqual([]);
  }); // prettier-ignore

  test('only to clients that are older than what was deleted', async () => {
    await replace({ suppliers: CATALOG.suppliers.filter(({ id }) => id !== 'sup_idle') });
    await publish({ coops: [{ id: 'co_y', name: 'Y' }] });
    await keepTwoLater();
    expect(await changes('a')).toEqual([]);
    nowMs += 91 * DAY_MS;
    await publishLines(service.database, { coops: [{ id: 'co_z', name: 'Z' }] }, { clock, removalsDays: 90 });
    expect(await changes('a')).toEqual([]);
    expect((await changes('all'))[0]).toBe('reset');
    const { length } = await service.database.kysely.selectFrom('catalog.departures').selectAll().execute();
    expect(length).toBe(0);
  });
});

describe('a listing', () => {
  test('that began incrementally is refused once removals that it left out may be unknown', async () => {
    await publish({
      contracts: [{ ...contract('ctr_1'), summary: 'New' }],
      suppliers: [{ ...supplier('sup_1'), about: 'New' }],
    });
    const copy = copies['a'] ?? expect.fail();
    await copy.read(service.get, { limit: 1 });
    expect(copy.isAtStart).toBe(false);
    await recover(service.database, { clock });
    await service.noticeChanges();
    expect((await copy.read(service.get, { limit: 1 })).status).toBe(400);
    expect((await changes('a'))[0]).toBe('reset');
  });

  test('that is complete continues whatever happens, and the next one is right', async () => {
    const copy = new FeedCopy(service.partner('a').key);
    await copy.read(service.get, { limit: 1 });
    await replace({ contracts: [] });
    await service.noticeChanges();
    await copy.sync(service.get, { limit: 1 });
    expect([...copy.records.keys()]).toContain('contracts ctr_1');
    await copy.sync(service.get);
    expect([...copy.records.keys()]).toEqual(['solicitations sol_1']);
  });

  test('has the kinds of its first page, of those requested', async () => {
    const { key } = service.partner('all');
    const { items } = await getChanges(service.get, key, { kinds: 'suppliers,contracts' });
    expect(new Set(items.map(({ kind }) => kind))).toEqual(new Set(['contracts', 'suppliers']));
    await setPartner(service.database, clock, 'all', { kinds: ['contracts', 'coops'] });
    await service.noticeChanges();
    expect((await getChanges(service.get, key, {})).items.map(({ kind }) => kind)).toEqual(['contracts', 'contracts']);
    expect((await getChanges(service.get, key, { kinds: 'suppliers' })).status).toBe(403);
    await setPartner(service.database, clock, 'all', { kinds: ['coops'] });
    await service.noticeChanges();
    expect((await getChanges(service.get, key, {})).status).toBe(403);
  });

  test.each(['json', 'ndjson'] as const)(
    'as %s that its kinds end is refused, and begins again with those that the partner can read by then',
    async (format) => {
      const { key } = service.partner('all');
      await publish({ suppliers: [supplier('sup_new'), supplier('sup_newer')] });
      const since = { format, limit: '1', updated_since: copies['all']?.watermark ?? '' };
      const begun = [
        [{ format, limit: '1' }, 400],
        [since, 400],
        [{ ...since, kinds: 'contracts,suppliers' }, 403],
      ] as const;
      const cursors = [];
      for (const [query] of begun) cursors.push((await getChanges(service.get, key, query)).meta?.next_cursor ?? '');
      await setPartner(service.database, clock, 'all', { kinds: ['contracts', 'coops'] });
      await service.noticeChanges();
      for (const [index, [query, status]] of begun.entries()) {
        const refused = await getChanges(service.get, key, { ...query, cursor: cursors[index] ?? '' });
        expect(refused.status).toBe(status);
        const again = await getChanges(service.get, key, query);
        expect(again.status).toBe(status === 400 ? 200 : 403);
        if (status === 400) expect([again.meta?.reset, describeChanges([again])]).toEqual([true, ['+ctr_1']]);
      }
    },
  );
});

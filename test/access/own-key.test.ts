import { beforeEach, describe, expect, test } from 'vitest';
import { grant } from '../../src/access/grant-admin.ts';
import { issueKey, rotateKey } from '../../src/access/key-admin.ts';
import { setPartner, suspendPartner } from '../../src/access/partner-admin.ts';
import type { HttpResponse } from '../support/client.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { serviceForAllTests } from '../support/service.ts';
import { storeUsage } from '../usage/recording.ts';

const DAY_MS = 86_400_000;
const START_MS = Date.parse('2026-04-15T23:59:00.000Z');
const NOT_AT_ALL = undefined;

let nowMs = START_MS;
const clock = (): number => nowMs;
let names = 0;

const service = serviceForAllTests({ catalog: SMALL_CATALOG, clock });
beforeEach(() => {
  nowMs = START_MS;
});

interface OwnKey extends Record<string, unknown> {
  readonly usage: readonly { readonly day: string; readonly requests: number }[];
}

const idOf = (key: string): string => key.slice(9, 17);
const timestampAt = (ms: number): string => new Date(ms).toISOString();

const issue = async (partner: string, lifetimeMs: number | null): Promise<string> =>
  (await issueKey(service.database, clock, partner, { environment: 'test', lifetimeMs })).key;

async function ownKey(key: string): Promise<OwnKey> {
  const { status, body } = await service.get('/v1/key', { key });
  expect(status, body).toBe(200);
  return JSON.parse(body) as OwnKey;
}

async function makeSome(
  setup: Partial<Parameters<typeof makePartner>[2]> = {},
): Promise<{ name: string; key: string }> {
  names += 1;
  return makePartner(service.database, clock, { name: `partner-${names}`, ...setup });
}

async function store(key: string, requests: Readonly<Record<string, number>>, endpoint = '/v1/coops'): Promise<void> {
  for (const [day, count] of Object.entries(requests))
    await storeUsage(service.database, { day, key_id: idOf(key), endpoint, requests: count });
}

describe('GET /v1/key', () => {
  test('shows the key and what its partner sees, to a partner that sees everything', async () => {
    const { name, key } = await makeSome({ everything: true, requestsPerMinute: 1_234 });
    const { usage, ...details } = await ownKey(key);
    expect(details).toEqual({
      id: idOf(key),
      environment: 'test',
      created_at: timestampAt(START_MS),
      expires_at: null,
      replaced_by: null,
      overlap_ends_at: null,
      partner: name,
      kinds: ['contracts', 'suppliers', 'solicitations', 'certifications', 'lead-entities', 'city-services', 'coops'],
      sees_everything: true,
      granted_lead_entities: 0,
      granted_coops: 0,
      requests_per_minute: 1_234,
      data_published_at: timestampAt(START_MS),
      data_checked_at: timestampAt(START_MS),
    });
    expect(usage).toHaveLength(30);
  });

  test('is open to a partner that is limited to some kinds, and shows them and its grants and limit', async () => {
    const { name, key } = await makeSome({ leadEntities: ['le_a', 'le_b'], coops: ['co_x'], kinds: ['coops'] });
    await setPartner(service.database, clock, name, { requestsPerMinute: null });
    await service.noticeChanges();
    expect(await ownKey(key)).toMatchObject({
      ...{ kinds: ['coops'], sees_everything: false, granted_lead_entities: 2, granted_coops: 1 },
      requests_per_minute: 600,
    });
    expect((await service.get('/v1/contracts', { key })).status).toBe(403);
  });

  test("shows this key's requests of the last 30 days in UTC, at once, and 0 for days without", async () => {
    const { name, key } = await makeSome();
    const other = await issue(name, null);
    await store(key, { '2026-03-16': 5, '2026-03-17': 7, '2026-04-15': 1, '2026-04-16': 9 });
    await store(key, { '2026-04-15': 40 }, '/v1/contracts');
    await store(other, { '2026-04-14': 1_000 });
    const { usage } = await ownKey(key);
    expect(usage.filter(({ requests }) => requests > 0)).toEqual([
      { day: '2026-03-17', requests: 7 },
      { day: '2026-04-15', requests: 41 },
    ]);
    expect([usage.length, usage[0]?.day, usage[29]?.day]).toEqual([30, '2026-03-17', '2026-04-15']);
    // Nothing but the counts, or the day, has changed.
    await store(key, { '2026-04-15': 2 });
    expect((await ownKey(key)).usage[29]).toEqual({ day: '2026-04-15', requests: 42 });
    nowMs += 60_000;
    expect((await ownKey(key)).usage[29]).toEqual({ day: '2026-04-16', requests: 9 });
  });

  test('shows nothing of other partners', async () => {
    const { key } = await makeSome({ leadEntities: ['le_a'] });
    const before = await ownKey(key);
    const other = await makeSome({ name: 'somebody-else', coops: ['co_x'], requestsPerMinute: 77_777 });
    await store(other.key, { '2026-04-15': 88_888 });
    await rotateKey(service.database, clock, idOf(other.key), DAY_MS);
    await service.noticeChanges();
    expect(await ownKey(key)).toEqual(before);
    expect(await ownKey(other.key)).toMatchObject({ partner: 'somebody-else', requests_per_minute: 77_777 });
    expect(JSON.stringify(before)).not.toContain(idOf(other.key));
  });

  test('shows both keys of a rotation their place in it', async () => {
    const { name } = await makeSome();
    const old = await issue(name, 100 * DAY_MS);
    const { issued } = await rotateKey(service.database, clock, idOf(old), 40 * DAY_MS);
    const end = timestampAt(START_MS + 40 * DAY_MS);
    expect(await ownKey(old)).toMatchObject({
      ...{ expires_at: end, overlap_ends_at: end, replaced_by: issued.details.id },
    });
    expect(await ownKey(issued.key)).toMatchObject({
      ...{ id: issued.details.id, expires_at: timestampAt(START_MS + 100 * DAY_MS) },
      ...{ overlap_ends_at: null, replaced_by: null },
    });
  });

  test('tells an import that found nothing new, which moves no watermark and no entity tag', async () => {
    const { name, key } = await makeSome({ everything: true });
    const read = async () => {
      await service.noticeChanges();
      const { headers } = await service.get('/v1/contracts', { key });
      const { data_published_at, data_checked_at } = await ownKey(key);
      return { data_published_at, data_checked_at, etag: headers.etag, watermark: headers['x-sync-watermark'] };
    };
    const before = await read();
    nowMs += DAY_MS;
    const unchanged = await publishLines(service.database, SMALL_CATALOG, { clock });
    expect(unchanged).toMatchObject({ timestamp: null, notes: [] });
    expect(await read()).toEqual({ ...before, data_checked_at: timestampAt(nowMs) });
    // Neither a preview nor a grant is a check.
    nowMs += DAY_MS;
    await publishLines(service.database, SMALL_CATALOG, { clock, dryRun: true });
    await grant(service.database, clock, name, { everything: false, leadEntities: ['le_a'], coops: [] });
    expect((await read()).data_checked_at).toBe(timestampAt(nowMs - DAY_MS));
    // A clock that was set back does not hide the check.
    nowMs -= 10 * DAY_MS;
    await publishLines(service.database, SMALL_CATALOG, { clock });
    expect(Date.parse(String((await read()).data_checked_at))).toBeGreaterThan(nowMs);
    nowMs += 20 * DAY_MS;
    await publishLines(service.database, { coops: [{ id: 'co_x', name: 'Renamed' }] }, { clock });
    expect(await read()).toMatchObject({ data_published_at: timestampAt(nowMs), data_checked_at: timestampAt(nowMs) });
  });
});

describe('X-Key-Expires-At', () => {
  const noticeOf = ({ headers }: HttpResponse): unknown => headers['x-key-expires-at'];

  /** The notice on every kind of response to a key, by what the response is. */
  async function notices(key: string): Promise<Record<string, unknown>> {
    const get = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<HttpResponse> =>
      service.get(path, { key, headers, method });
    const fresh = await get('/v1/coops');
    const cached = await get('/v1/coops');
    const unchanged = await get('/v1/coops', { 'if-none-match': String(fresh.headers.etag) });
    const record = await get('/v1/contracts/ctr_1');
    const refused = await get('/v1/coops?x=1');
    const missing = await get('/v1/contracts/no-such');
    const unknown = await get('/v1/nothing');
    const wrong = await get('/v1/coops', {}, 'POST');
    const own = await get('/v1/key');
    const all = { fresh, cached, unchanged, record, refused, missing, unknown, wrong, own };
    expect(Object.values(all).map(({ status }) => status)).toEqual([200, 200, 304, 200, 400, 404, 404, 405, 200]);
    return Object.fromEntries(Object.entries(all).map(([what, response]) => [what, noticeOf(response)]));
  }

  test('is on every response in the last 30 days of a key, from the millisecond on, and on none before', async () => {
    const { name, key: forever } = await makeSome({ everything: true });
    const key = await issue(name, 100 * DAY_MS);
    const endMs = START_MS + 100 * DAY_MS;
    nowMs = endMs - 30 * DAY_MS - 1;
    expect(new Set(Object.values(await notices(key)))).toEqual(new Set([NOT_AT_ALL]));
    nowMs += 1;
    expect(new Set(Object.values(await notices(key)))).toEqual(new Set([timestampAt(endMs)]));
    nowMs = endMs - 1;
    expect(noticeOf(await service.get('/v1/coops', { key }))).toBe(timestampAt(endMs));
    nowMs = endMs;
    const ended = await service.get('/v1/coops', { key });
    expect([ended.status, noticeOf(ended)]).toEqual([401, NOT_AT_ALL]);
    expect(noticeOf(await service.get('/v1/coops', { key: forever }))).toBe(NOT_AT_ALL);
  });

  test('is on every response in the overlap of a rotation, however long, and not on those to the new key', async () => {
    const { name } = await makeSome({ everything: true });
    const old = await issue(name, null);
    expect(noticeOf(await service.get('/v1/coops', { key: old }))).toBe(NOT_AT_ALL);
    const { issued } = await rotateKey(service.database, clock, idOf(old), 90 * DAY_MS);
    await service.noticeChanges();
    expect(new Set(Object.values(await notices(old)))).toEqual(new Set([timestampAt(START_MS + 90 * DAY_MS)]));
    expect(new Set(Object.values(await notices(issued.key)))).toEqual(new Set([NOT_AT_ALL]));
  });

  test('is on refusals for suspension, kind and limit', async () => {
    const { name } = await makeSome({ kinds: ['coops'], requestsPerMinute: 2 });
    const key = await issue(name, DAY_MS);
    const end = timestampAt(START_MS + DAY_MS);
    const responses = [await service.get('/v1/contracts', { key })];
    await suspendPartner(service.database, clock, name);
    await service.noticeChanges();
    for (let time = 0; time < 2; time += 1) responses.push(await service.get('/v1/coops', { key }));
    expect(responses.map((response) => [response.status, noticeOf(response)])).toEqual([
      [403, end],
      [403, end],
      [429, end],
    ]);
  });
});

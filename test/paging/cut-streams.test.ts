import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { expect, inject, test } from 'vitest';
import { grant, revoke } from '../../src/access/grant-admin.ts';
import { issueKey, revokeKey } from '../../src/access/key-admin.ts';
import { deletePartner, setPartner, suspendPartner } from '../../src/access/partner-admin.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { rollback } from '../../src/recovery/rollback.ts';
import { contract, publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { makePartner, type PartnerSetup } from '../support/partners.ts';
import { serviceForAllTests } from '../support/service.ts';

/** Together more than sockets buffer, so that a stream that nobody reads is not read to its end either. */
const CONTRACTS = 5_001;
const DESCRIPTION = 'Asphalt '.repeat(800);

const clock = Date.now;
const idOf = (index: number): string => `ctr_${String(index).padStart(5, '0')}`;
const made = (index: number) => ({ ...contract(idOf(index)), description: DESCRIPTION });
const contracts = Array.from({ length: CONTRACTS }, (_, index) => made(index));

let partners = 0;

const service = serviceForAllTests({ catalog: { ...SMALL_CATALOG, contracts }, clock }, 120_000);

async function addPartner(setup: Partial<PartnerSetup> = {}): Promise<{ name: string; key: string }> {
  partners += 1;
  const own = { name: `partner-${partners}`, leadEntities: ['le_a', 'le_b'], ...setup };
  const partner = await makePartner(service.database, clock, own);
  await service.noticeChanges();
  return partner;
}

/** Begins to read a stream, and reads nothing of its body. */
async function begin(key: string, list = 'contracts'): Promise<IncomingMessage> {
  const sent = request(`${service.url}/v1/${list}?format=ndjson`, {
    agent: false,
    headers: { authorization: `Bearer ${key}` },
  });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  // A reset is an error of the request too; `readOn` returns that of the response.
  sent.on('error', () => undefined);
  response.pause();
  return response;
}

/** Reads the rest of a stream. */
async function readOn(response: IncomingMessage): Promise<{ ids: string[]; error: string | null }> {
  const chunks: Buffer[] = [];
  let error: string | null = null;
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (thrown) {
    error = (thrown as NodeJS.ErrnoException).code ?? String(thrown);
  }
  const lines = Buffer.concat(chunks).toString().split('\n').slice(0, -1);
  return { ids: lines.map((line) => (JSON.parse(line) as { id: string }).id), error };
}

const ways: [string, (database: OpenDatabase, name: string, key: string) => Promise<unknown>][] = [
  ['its key is revoked', async (database, _, key) => revokeKey(database, clock, key.split('_')[2] ?? '')],
  ['its partner is suspended', (database, name) => suspendPartner(database, clock, name)],
  ['its partner is deleted', (database, name) => deletePartner(database, clock, name)],
  [
    'one of its grants ends',
    (database, name) => revoke(database, clock, name, { everything: false, leadEntities: ['le_b'], coops: [] }),
  ],
  ['its partner loses the kind', (database, name) => setPartner(database, clock, name, { kinds: ['suppliers'] })],
];

test.each(ways)('a stream is cut, so that its connection is reset, if %s', async (_, change) => {
  const { name, key } = await addPartner();
  const response = await begin(key);
  await change(service.database, name, key);
  await service.noticeChanges();
  const { ids, error } = await readOn(response);
  expect(error).toBe('ECONNRESET');
  expect(ids.length).toBeLessThan(CONTRACTS);
  expect(ids).toEqual(Array.from(ids, (_id, index) => idOf(index)));
});

test('a stream of changes is cut if its partner loses one of its kinds', async () => {
  const { name, key } = await addPartner();
  const response = await begin(key, 'changes');
  await setPartner(service.database, clock, name, { kinds: ['contracts'] });
  await service.noticeChanges();
  const { ids, error } = await readOn(response);
  expect([error, ids.length < CONTRACTS]).toEqual(['ECONNRESET', true]);
});

test('a stream continues if another key is revoked and a grant is added', async () => {
  const { name, key } = await addPartner();
  const other = await issueKey(service.database, clock, name, { environment: 'test', lifetimeMs: null });
  const response = await begin(key);
  await revokeKey(service.database, clock, other.key.split('_')[2] ?? '');
  await grant(service.database, clock, name, { everything: false, leadEntities: [], coops: ['co_x'] });
  await service.noticeChanges();
  const { ids, error } = await readOn(response);
  expect([error, ids.length]).toEqual([null, CONTRACTS]);
});

test('a stream has each record once that exists all the time, whatever is imported meanwhile', async () => {
  const { key } = await addPartner();
  const response = await begin(key);
  const late = CONTRACTS - 10;
  const changed = contracts
    .filter((_, index) => index < late || index % 2 === 0)
    .flatMap((record) => (record.id > idOf(4_000) ? [record, { ...record, id: `${record.id}b` }] : [record]));
  await publishLines(service.database, { contracts: changed }, { replace: true, allowRemovals: true });
  await service.noticeChanges();
  const { ids, error } = await readOn(response);
  expect(error).toBeNull();
  expect(ids).toEqual([...new Set(ids)].sort());
  expect(ids).toEqual(expect.arrayContaining(changed.map(({ id }) => id).filter((id) => !id.endsWith('b'))));
  expect(ids.filter((id) => id.endsWith('b')).length).toBeGreaterThan(0);
  await publishLines(service.database, { contracts }, { replace: true, allowRemovals: true });
});

test.skipIf(inject('engine') !== 'sqlite')(
  'a stream continues over a rollback, and the next listing of changes is complete',
  async () => {
    const { key } = await addPartner();
    await publishLines(service.database, { contracts: [{ ...made(0), name: 'Renamed' }, made(CONTRACTS)] });
    await service.noticeChanges();
    const response = await begin(key);
    await rollback(service.database, { clock });
    await service.noticeChanges();
    const { ids, error } = await readOn(response);
    expect([error, ids]).toEqual([null, contracts.map(({ id }) => id)]);
    const since = String(response.headers['x-sync-watermark']);
    const changes = await service.get(`/v1/changes?limit=1&updated_since=${since}`, { key });
    expect(JSON.parse(changes.body)).toMatchObject({ meta: { reset: true } });
  },
);

test('a partner has two streams at a time; a third is 429 until one ends', async () => {
  const { key } = await addPartner();
  const open = [await begin(key), await begin(key)];
  const third = await service.get('/v1/contracts?format=csv', { key });
  expect([third.status, third.headers['retry-after'], third.headers['content-type']]).toEqual([
    429,
    '5',
    'application/json; charset=utf-8',
  ]);
  const other = await addPartner();
  expect((await service.get('/v1/contracts?format=ndjson&limit=1', { key: other.key })).status).toBe(200);
  expect((await service.get('/v1/contracts', { key })).status).toBe(200);
  for (const response of open) await readOn(response);
  await expect.poll(async () => (await service.get('/v1/contracts?format=csv&limit=1', { key })).status).toBe(200);
});

test('a stream costs a unit for each 2,000 records, before its body, and at most half of the limit', async () => {
  const { key } = await addPartner({ requestsPerMinute: 100 });
  const leftAfter = async (query: string): Promise<string | undefined> => {
    const { headers } = await service.get(`/v1/contracts?${query}`, { key });
    return /r=(\d+)/.exec(String(headers['ratelimit']))?.[1];
  };
  expect(await leftAfter('format=ndjson&limit=1')).toBe('99');
  expect(await leftAfter('format=ndjson&limit=2000')).toBe('98');
  expect(await leftAfter('format=ndjson&limit=2001')).toBe('96');
  expect(await leftAfter('format=ndjson')).toBe('93');
  const { headers } = await service.get('/v1/contracts?format=ndjson&limit=1500', { key });
  const cursor = /cursor=([^&>]+)/.exec(String(headers['link']))?.[1] ?? '';
  // The remaining 3,501.
  expect(await leftAfter(`format=ndjson&cursor=${cursor}`)).toBe('90');
  const slow = await addPartner({ requestsPerMinute: 5 });
  const first = await service.get('/v1/contracts?format=ndjson', { key: slow.key });
  expect(first.headers['ratelimit']).toMatch(/r=3;/);
  // A stream begins if one unit is left.
  for (const left of [1, 0]) {
    const { status, headers } = await service.get('/v1/contracts?format=ndjson', { key: slow.key });
    expect([status, headers['ratelimit']]).toEqual([200, expect.stringContaining(`r=${left};`)]);
  }
  expect((await service.get('/v1/contracts?format=ndjson', { key: slow.key })).status).toBe(429);
});

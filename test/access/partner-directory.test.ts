import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ensureDemoPartner } from '../../src/commands/serve/demo.ts';
import { grant, revoke } from '../../src/access/grant-admin.ts';
import { issueKey, revokeKey, rotateKey } from '../../src/access/key-admin.ts';
import { DEMO_KEY, issueKeyText } from '../../src/access/keys.ts';
import { createPartner, setPartner, suspendPartner } from '../../src/access/partner-admin.ts';
import { PartnerDirectory } from '../../src/access/partner-directory.ts';
import type { Environment } from '../../src/config.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { appendEvent, lockLog } from '../../src/database/event-log.ts';
import { inTransaction } from '../../src/database/database.ts';
import { openForServing } from '../../src/database/open.ts';
import { databaseForEachTest } from '../support/database.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { timeUntil } from '../support/time-until.ts';

const HOUR_MS = 3_600_000;

let serving: OpenDatabase;
let directory: PartnerDirectory;
let nowMs: number;
let key: string;
let elapsedMs: number;
const clock = (): number => nowMs;
const now = (): number => elapsedMs;

const made = databaseForEachTest();
beforeEach(async () => {
  nowMs = Date.parse('2026-06-01T12:00:00.000Z');
  elapsedMs = 0;
  serving = openForServing(made.config);
  await createPartner(made.database, clock, 'acme', { everything: false });
  key = await newKey();
  directory = directoryIn('dev');
  await directory.start();
});
afterEach(async () => {
  directory.stop();
  await serving.close();
});

function directoryIn(environment: Environment): PartnerDirectory {
  return new PartnerDirectory({ database: serving, environment, requestsPerMinute: 600, clock, now });
}

async function newKey(environment: 'live' | 'test' = 'test', lifetimeMs: number | null = null): Promise<string> {
  return (await issueKey(made.database, clock, 'acme', { environment, lifetimeMs })).key;
}

describe('a key', () => {
  test('finds its partner and scope, with the default limits unless the partner has its own', async () => {
    const found = await directory.findByKey(key);
    expect(found?.keyId).toBe(key.slice(9, 17));
    expect(found?.partner).toEqual({
      id: 1,
      revision: await made.database.readRevision(),
      name: 'acme',
      scopeEvent: expect.stringMatching(/^2026-06-01T12:00:00.000Z /) as string,
      isSuspended: false,
      requestsPerMinute: 600,
      kinds: null,
      scope: {
        everythingSince: null,
        leadEntities: new Map(),
        coops: new Map(),
      },
    });
  });

  test('finds each grant with its timestamp, and the limits set for the partner', async () => {
    await publishLines(made.database, SMALL_CATALOG, { clock });
    nowMs += HOUR_MS;
    await grant(made.database, clock, 'acme', { everything: false, leadEntities: ['le_a', 'le_b'], coops: ['co_x'] });
    nowMs += HOUR_MS;
    await grant(made.database, clock, 'acme', { everything: true, leadEntities: [], coops: [] });
    await setPartner(made.database, clock, 'acme', { requestsPerMinute: 7, kinds: ['coops', 'contracts'] });
    const partner = (await directoryIn('dev').findByKey(key))?.partner;
    const grantedAt = '2026-06-01T13:00:00.000Z';
    expect(partner?.scope).toEqual({
      everythingSince: '2026-06-01T14:00:00.000Z',
      leadEntities: new Map([
        ['le_a', grantedAt],
        ['le_b', grantedAt],
      ]),
      coops: new Map([['co_x', grantedAt]]),
    });
    // A change of kinds is an event too.
    expect(partner?.scopeEvent).toMatch(/^2026-06-01T14:00:00.002Z /);
    expect(partner).toMatchObject({ requestsPerMinute: 7, kinds: new Set(['coops', 'contracts']) });
  });

  test('is rejected if it was never issued, even if its public id was', async () => {
    const stranger = issueKeyText('test');
    expect(await directory.findByKey(stranger.key)).toBeNull();
    // A stored key's digest under another id: as if an attacker had guessed everything but the secret.
    await made.database.kysely.updateTable('access.keys').set({ id: stranger.id }).execute();
    expect(await directoryIn('dev').findByKey(stranger.key)).toBeNull();
    for (const text of ['', 'x', key.slice(0, -1), `${key} `, key.toLowerCase()]) {
      expect(await directory.findByKey(text)).toBeNull();
    }
  });

  test('works only in its environment: live keys in production, test keys in uat and dev', async () => {
    const live = await newKey('live');
    const accepted = async (environment: Environment): Promise<boolean[]> => [
      (await directoryIn(environment).findByKey(live)) !== null,
      (await directoryIn(environment).findByKey(key)) !== null,
    ];
    expect(await accepted('production')).toEqual([true, false]);
    expect(await accepted('uat')).toEqual([false, true]);
    expect(await accepted('dev')).toEqual([false, true]);
  });

  test('published for the demo works only for the demo partner, and only in dev', async () => {
    expect(await directory.findByKey(DEMO_KEY)).toBeNull();
    expect(await ensureDemoPartner(made.database, clock)).toBe(true);
    expect(await ensureDemoPartner(made.database, clock)).toBe(false);
    expect((await directory.findByKey(DEMO_KEY))?.partner).toMatchObject({ name: 'demo', isSuspended: false });
    expect(await directoryIn('uat').findByKey(DEMO_KEY)).toBeNull();
  });

  test('is rejected from its expiry on, even if it is cached', async () => {
    const shortLived = await newKey('test', HOUR_MS);
    nowMs += HOUR_MS - 1;
    expect(await directory.findByKey(shortLived)).not.toBeNull();
    nowMs += 1;
    expect(await directory.findByKey(shortLived)).toBeNull();
    expect(await directory.findByKey(key)).not.toBeNull();
  });

  test('that was rotated works alongside the new one until the overlap ends', async () => {
    const { issued } = await rotateKey(made.database, clock, key.slice(9, 17), HOUR_MS);
    expect(await directory.findByKey(key)).not.toBeNull();
    expect(await directory.findByKey(issued.key)).not.toBeNull();
    nowMs += HOUR_MS;
    expect(await timeUntil(async () => (await directory.findByKey(key)) === null)).toBeLessThan(1_000);
    expect(await directory.findByKey(issued.key)).not.toBeNull();
  });
});

describe('within a second, a server with the key cached notices', () => {
  test('a revoked key', async () => {
    expect(await directory.findByKey(key)).not.toBeNull();
    await revokeKey(made.database, clock, key.slice(9, 17));
    expect(await timeUntil(async () => (await directory.findByKey(key)) === null)).toBeLessThan(1_000);
  });

  test('a suspension', async () => {
    expect((await directory.findByKey(key))?.partner.isSuspended).toBe(false);
    await suspendPartner(made.database, clock, 'acme');
    const isSuspended = async (): Promise<boolean> => (await directory.findByKey(key))?.partner.isSuspended === true;
    expect(await timeUntil(isSuspended)).toBeLessThan(1_000);
  });

  test('a grant, and its revocation', async () => {
    const seesEverything = async (): Promise<boolean> =>
      (await directory.findByKey(key))?.partner.scope.everythingSince !== null;
    expect(await seesEverything()).toBe(false);
    const everything = { everything: true, leadEntities: [], coops: [] };
    await grant(made.database, clock, 'acme', everything);
    expect(await timeUntil(seesEverything)).toBeLessThan(1_000);
    await revoke(made.database, clock, 'acme', everything);
    expect(await timeUntil(async () => !(await seesEverything()))).toBeLessThan(1_000);
  });

  test('a change, immediately, if a statement has seen its revision', async () => {
    const before = directory.revision;
    expect(await directory.findByKey(key)).not.toBeNull();
    nowMs += HOUR_MS;
    await grant(made.database, clock, 'acme', { everything: true, leadEntities: [], coops: [] });
    directory.notice(await made.database.readRevision(), before);
    const after = (await directory.findByKey(key))?.partner;
    expect(after?.scope).toMatchObject({ everythingSince: '2026-06-01T13:00:00.000Z' });
  });

  test('a database restored to an earlier revision', async () => {
    await setPartner(made.database, clock, 'acme', { requestsPerMinute: 5 });
    expect((await directoryIn('dev').findByKey(key))?.partner.requestsPerMinute).toBe(5);
    await directory.findByKey(key);
    await made.database.kysely.deleteFrom('access.events').where('what', '=', 'partner').execute();
    await made.database.kysely.updateTable('access.partners').set({ requests_per_minute: 9 }).execute();
    const isRestored = async (): Promise<boolean> => (await directory.findByKey(key))?.partner.requestsPerMinute === 9;
    expect(await timeUntil(isRestored)).toBeLessThan(1_000);
  });
});

test.each([
  [0, 0],
  // At the timestamp of the lost one, and with it among theirs.
  [1, 0],
  [2, 0],
  // At others.
  [2, 1_000],
])(
  'lost changes are noticed once, and nothing else is, if %d others were made since, %d ms later',
  async (others, laterMs) => {
    const change = (limit: number): Promise<unknown> =>
      setPartner(made.database, clock, 'acme', { requestsPerMinute: limit });
    const noticed = (): Promise<number> => timeUntil(async () => directory.revision === (await readRevision()));
    const { kysely } = made.database;
    const readRevision = (): Promise<string> => made.database.readRevision();
    await change(10);
    const { at: last } = await kysely
      .selectFrom('access.events')
      .select((eb) => eb.fn.max('at').as('at'))
      .executeTakeFirstOrThrow();
    await change(11);
    await noticed();
    await inTransaction(made.database, async (restored) => {
      await restored.kysely.deleteFrom('access.events').where('at', '>', last).execute();
      for (let other = 0; other < others; other += 1) {
        const at = await lockLog(restored, () => clock() + laterMs);
        await appendEvent(restored, at, { what: 'partner', partnerId: 1 });
      }
    });
    await timeUntil(async () => directory.state.losses === 1);
    for (const limit of [12, 13]) {
      await change(limit);
      await noticed();
    }
    expect(directory.state.losses).toBe(1);
  },
);

test('lost changes are noticed also if the lookup of a key sees the next change before the poll does', async () => {
  const uncached = await newKey();
  await setPartner(made.database, clock, 'acme', { requestsPerMinute: 10 });
  await directory.readRevision();
  await inTransaction(made.database, async (restored) => {
    const last = sql`(select max(at) from access.events)`;
    await sql`delete from access.events where at = ${last}`.execute(restored.kysely);
    await appendEvent(restored, await lockLog(restored, clock), { what: 'partner', partnerId: 1 });
  });
  expect(await directory.findByKey(uncached)).not.toBeNull();
  await timeUntil(async () => directory.state.losses === 1);
});

describe('while the database cannot be read', () => {
  test.each([
    ['goes on', 0],
    ['steps back', -HOUR_MS],
    ['steps forward', HOUR_MS],
  ])('cached keys remain valid for exactly 30 s, while the clock %s, and others fail', async (_, stepMs) => {
    const unused = await newKey();
    expect(await directory.findByKey(key)).not.toBeNull();
    await serving.close();
    expect(await directory.findByKey(key)).not.toBeNull();
    await expect(directory.findByKey(unused)).rejects.toThrow();
    await expect(directory.readRevision()).rejects.toThrow();
    nowMs += stepMs;
    elapsedMs += 30_000;
    expect(await directory.findByKey(key)).not.toBeNull();
    elapsedMs += 1;
    await expect(directory.findByKey(key)).rejects.toThrow();
  });

  test('a malformed or misspelled key, or one of another environment, is rejected without a query', async () => {
    const misspelled = `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`;
    await serving.close();
    for (const wrong of ['pds_test_nonsense', 'pds_test_'.padEnd(61, 'x'), misspelled, issueKeyText('live').key])
      expect(await directory.findByKey(wrong)).toBeNull();
    await expect(directory.findByKey(issueKeyText('test').key)).rejects.toThrow();
  });
});

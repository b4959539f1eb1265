import { sql } from 'kysely';
import { beforeEach, describe, expect, inject, test } from 'vitest';
import { ensureDemoPartner } from '../../src/commands/serve/demo.ts';
import { grant, revoke, type Grants } from '../../src/access/grant-admin.ts';
import { issueKey, revokeKey, rotateKey } from '../../src/access/key-admin.ts';
import { createPartner, resumePartner, setPartner, suspendPartner } from '../../src/access/partner-admin.ts';
import { listAuditEntries } from '../../src/database/audit.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { databaseForEachTest } from '../support/database.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';

const DAY_MS = 86_400_000;
const NOTHING: Grants = { everything: false, leadEntities: [], coops: [] };
const RETENTION_DAYS = 10;

let database: OpenDatabase;
let nowMs: number;
const clock = (): number => nowMs;

const made = databaseForEachTest();
beforeEach(async () => {
  database = { ...made.database, operator: { name: 'alice@desk', auditRetentionDays: RETENTION_DAYS } };
  nowMs = Date.parse('2026-06-01T12:00:00.000Z');
  await publishLines(database, SMALL_CATALOG, { clock, directory: 'small' });
  await createPartner(database, clock, 'acme', { everything: false });
  await database.kysely.deleteFrom('access.audit').execute();
});

function changes(partner: string | null = null) {
  return listAuditEntries(database, clock, { days: 36_500, partner });
}

async function everyRow(): Promise<unknown[]> {
  const tables = [
    'access.events',
    'access.partners',
    'access.grants',
    'access.keys',
    'access.audit',
    'catalog.coops',
    'catalog.releases',
  ] as const;
  return Promise.all(tables.map((table) => database.kysely.selectFrom(table).selectAll().execute()));
}

const issueAcme = () => issueKey(database, clock, 'acme', { environment: 'test', lifetimeMs: DAY_MS });

describe('the audit trail', () => {
  test('records who made each change, when, what it was and what it affected', async () => {
    await createPartner(database, clock, 'other', { everything: true });
    nowMs += 1_000;
    await grant(database, clock, 'acme', { ...NOTHING, leadEntities: ['le_a', 'le_b'], coops: ['co_x'] });
    await grant(database, clock, 'acme', { ...NOTHING, everything: true, coops: ['co_x'] });
    await revoke(database, clock, 'acme', { ...NOTHING, leadEntities: ['le_b'] });
    await setPartner(database, clock, 'acme', { requestsPerMinute: 5, kinds: ['coops'] });
    await setPartner(database, clock, 'acme', { requestsPerMinute: null, kinds: ['coops'] });
    await suspendPartner(database, clock, 'acme');
    await resumePartner(database, clock, 'acme');
    const first = (await issueAcme()).details.id;
    const second = (await rotateKey(database, clock, first, 3_600_000)).issued.details.id;
    await revokeKey(database, clock, first);
    const { timestamp } = await publishLines(
      database,
      { coops: [{ id: 'co_y', name: 'Y' }] },
      { clock, directory: 'd' },
    );
    await ensureDemoPartner(database, clock);

    const at = '2026-06-01T12:00:01.000Z';
    const acme = { at, actor: 'alice@desk', partner: 'acme', keyId: null };
    const tomorrow = '2026-06-02T12:00:01.000Z';
    expect(await changes()).toEqual([
      {
        ...{ ...acme, at: '2026-06-01T12:00:00.000Z', partner: 'other' },
        ...{ action: 'partner create', details: { everything: true } },
      },
      { ...acme, action: 'partner grant', details: { lead_entities: ['le_a', 'le_b'], coops: ['co_x'] } },
      { ...acme, action: 'partner grant', details: { everything: true } },
      { ...acme, action: 'partner revoke', details: { lead_entities: ['le_b'] } },
      {
        ...{ ...acme, action: 'partner set' },
        details: { requests_per_minute: { from: null, to: 5 }, kinds: { from: null, to: 'coops' } },
      },
      { ...acme, action: 'partner set', details: { requests_per_minute: { from: 5, to: null } } },
      { ...acme, action: 'partner suspend', details: {} },
      { ...acme, action: 'partner resume', details: {} },
      { ...acme, action: 'key issue', keyId: first, details: { environment: 'test', expires_at: tomorrow } },
      {
        ...{ ...acme, action: 'key rotate', keyId: first },
        details: { good_until: '2026-06-01T13:00:01.000Z', replaced_by: second, expires_at: tomorrow },
      },
      { ...acme, action: 'key revoke', keyId: first, details: {} },
      {
        ...{ ...acme, partner: null, action: 'import' },
        details: { directory: 'd', published_at: timestamp, kinds: { coops: { added: 1 } }, rendered_anew: 0 },
      },
      { ...acme, partner: 'demo', action: 'partner create', details: { everything: true } },
      { ...acme, partner: 'demo', action: 'key issue', keyId: 'demodemo', details: {} },
    ]);
    expect((await changes('demo')).map(({ action }) => action)).toEqual(['partner create', 'key issue']);
  });

  test('contains no command that failed or changed nothing', async () => {
    const { id } = (await issueAcme()).details;
    await revokeKey(database, clock, id);
    const before = await changes();
    await grant(database, clock, 'acme', NOTHING);
    await setPartner(database, clock, 'acme', { requestsPerMinute: null, kinds: null });
    await resumePartner(database, clock, 'acme');
    await revokeKey(database, clock, id);
    await publishLines(database, SMALL_CATALOG, { clock });
    await publishLines(database, { coops: [{ id: 'co_z', name: 'Z' }] }, { clock, dryRun: true });
    await ensureDemoPartner(database, clock);
    const failed = await Promise.allSettled([
      createPartner(database, clock, 'acme', { everything: true }),
      grant(database, clock, 'acme', { ...NOTHING, everything: true, coops: ['co_none'] }),
      revoke(database, clock, 'acme', { ...NOTHING, coops: ['co_x'] }),
      setPartner(database, clock, 'nobody', { kinds: null }),
      issueKey(database, clock, 'nobody', { environment: 'test', lifetimeMs: null }),
      rotateKey(database, clock, id, 0),
      publishLines(database, { coops: [{ id: 'co_z' }] }, { clock }),
    ]);
    expect(failed.map(({ status }) => status)).toEqual(failed.map(() => 'rejected'));
    expect((await changes()).slice(before.length).map(({ partner }) => partner)).toEqual(['demo', 'demo']);
  });

  test('commits with the change: a change that cannot be recorded is rolled back', async () => {
    const { id } = (await issueAcme()).details;
    if (inject('engine') === 'sqlite') {
      await sql`create trigger access.full before insert on audit begin select raise(abort, 'no room'); end`.execute(
        database.kysely,
      );
    } else {
      await sql`alter table access.audit add constraint no_room check (false) not valid`.execute(database.kysely);
    }
    const before = await everyRow();
    const attempts = [
      () => createPartner(database, clock, 'other', { everything: true }),
      () => grant(database, clock, 'acme', { ...NOTHING, everything: true, coops: ['co_x'] }),
      () => setPartner(database, clock, 'acme', { kinds: ['coops'] }),
      () => suspendPartner(database, clock, 'acme'),
      () => issueAcme(),
      () => rotateKey(database, clock, id, 0),
      () => revokeKey(database, clock, id),
      () => publishLines(database, { coops: [{ id: 'co_new', name: 'New' }] }, { clock }),
      () => ensureDemoPartner(database, clock),
    ];
    for (const attempt of attempts) await expect(attempt()).rejects.toThrow(/no room|no_room/);
    expect(await everyRow()).toEqual(before);
  });

  test('keeps entries for exactly the configured retention', async () => {
    const startMs = nowMs;
    for (const day of [0, 1, 2]) {
      nowMs = startMs + day * DAY_MS;
      await createPartner(database, clock, `partner-${day}`, { everything: false });
    }
    nowMs = startMs + (RETENTION_DAYS + 1) * DAY_MS;
    // Neither reads nor changes without effect delete anything.
    await resumePartner(database, clock, 'acme');
    expect(await changes()).toHaveLength(3);
    await suspendPartner(database, clock, 'acme');
    expect((await changes()).map(({ partner }) => partner)).toEqual(['partner-1', 'partner-2', 'acme']);
    nowMs += 1;
    await publishLines(database, { coops: [{ id: 'co_new', name: 'New' }] }, { clock });
    expect((await changes()).map(({ partner }) => partner)).toEqual(['partner-2', 'acme', null]);
  });
});

import { sql } from 'kysely';
import { beforeEach, expect, inject, test } from 'vitest';
import { writeAuditEntry } from '../../src/database/audit.ts';
import { readTraces, recover } from '../../src/recovery/recover.ts';
import { callPds } from '../commands/call-pds.ts';
import { dataOf, idsOf } from '../support/client.ts';
import { contract, publishLines, SMALL_CATALOG, supplier } from '../support/publishing.ts';
import { runPdsInTerminal } from '../support/process/in-terminal.ts';
import { testWith } from '../support/installed-programs.ts';
import { serviceForEachTest } from '../support/service.ts';

const KINDS = ['contracts', 'suppliers', 'solicitations'] as const;
const DAY_MS = 86_400_000;

const service = serviceForEachTest({
  catalog: SMALL_CATALOG,
  clock: Date.now,
  partners: [
    { name: 'all', everything: true },
    { name: 'a', leadEntities: ['le_a'] },
  ],
});
beforeEach(async () => {
  // Some records of every kind get their `updated_at` from the first import, some from a later one.
  await publishLines(service.database, {
    suppliers: [{ ...supplier('sup_1'), name: 'Renamed' }],
    contracts: [{ ...contract('ctr_3'), summary: 'New' }],
  });
  await service.noticeChanges();
});

async function sync(partner: string, kind: string, since: string) {
  const pages = await service.listAllPages(`/v1/${kind}?updated_since=${since}`, service.partner(partner).key, [100]);
  return { ids: idsOf(...pages), records: dataOf(...pages), watermark: String(pages[0]?.headers['x-sync-watermark']) };
}

test('every sync receives everything it can see once, with unchanged updated_at', async () => {
  for (const partner of ['all', 'a']) {
    for (const kind of KINDS) {
      const before = await sync(partner, kind, '1970-01-01T00:00:00.000Z');
      expect(before.ids.length).toBeGreaterThan(0);
      expect((await sync(partner, kind, before.watermark)).ids).toEqual([]);

      // Later than all releases by more than the five seconds that a sync reads again.
      const { timestamp } = await recover(service.database, { clock: () => Date.now() + 60_000 });
      await service.noticeChanges();
      // A client that has seen lost changes syncs from a later timestamp than any in the database.
      const after = await sync(partner, kind, timestamp);
      expect(after.records).toEqual(before.records);
      expect((await sync(partner, kind, after.watermark)).ids).toEqual([]);
    }
  }
});

test('the new timestamp is later than all stored ones, the clock and --after', async () => {
  const { kysely } = service.database;
  const clockMs = Date.now() - DAY_MS;
  const first = await recover(service.database, { clock: () => clockMs });
  const known = await kysely.selectFrom('access.events').select(['at', 'what']).orderBy('at').execute();
  expect(known.at(-1)).toEqual({ at: first.timestamp, what: 'reset' });
  expect(first.lastEvent).toBe(known.at(-2)?.at);

  const seen = new Date(Date.now() + 60_000).toISOString();
  const { timestamp } = await recover(service.database, { clock: Date.now, after: seen });
  expect(timestamp > seen).toBe(true);
  // Later timestamps continue from there.
  const { timestamp: next } = await publishLines(service.database, { coops: [{ id: 'co_y', name: 'Coop Y' }] });
  expect((next ?? '') > timestamp).toBe(true);
});

test('pds recover reports the age of partners and keys, and that revoked keys may be valid again', async () => {
  const [newest] = await service.database.kysely
    .selectFrom('access.audit')
    .select((eb) => eb.fn.max('at').as('at'))
    .execute();
  const { code, stdout, stderr } = await callPds(['recover', '--yes', '--json'], service.settings);
  expect(code).toBe(0);
  expect(Object.keys(JSON.parse(stdout) as object)).toEqual(['recovered_at', 'last_event', 'newest_trace']);
  expect(stderr).toMatch(/A KEY REVOKED SINCE THEN WORKS AGAIN/);
  expect(stderr).toContain(newest?.at);
  const { rows } = await sql<{ action: string }>`select action from access.audit order by id desc limit 1`.execute(
    service.database.kysely,
  );
  expect(rows).toEqual([{ action: 'recover' }]);
  expect((await callPds(['recover', '--after', '2926-01-01T00:00:00Z'], service.settings)).code).toBe(2);
});

test('pds recover --nothing-lost has nothing to do without a promotion, and changes nothing', async () => {
  const before = await rowsOf(STATE);
  const { code, stdout } = await callPds(['recover', '--nothing-lost', '--json'], service.settings);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ recorded: false });
  const contradicting = ['recover', '--nothing-lost', '--after', '2026-01-01T00:00:00Z'];
  expect(await callPds(contradicting, service.settings)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("'--nothing-lost' cannot be used with option '--after") as string,
  });
  expect(await rowsOf(STATE)).toEqual(before);
});

/** Everything that a recovery changes. */
const STATE = ['catalog.releases', 'catalog.contracts', 'access.events', 'access.settings', 'access.audit'];

function rowsOf(tables: readonly string[]): Promise<unknown> {
  const { kysely } = service.database;
  return Promise.all(tables.map((table) => sql`select * from ${sql.table(table)} order by 1, 2`.execute(kysely)));
}

test('a recovery writes no record and no set of the index, and its reset is the last event', async () => {
  const tables = ['catalog.releases', 'catalog.contracts', 'catalog.contracts_index', 'catalog.index_blocks'];
  const before = await rowsOf(tables);
  await recover(service.database, { clock: Date.now });
  expect(await rowsOf(tables)).toEqual(before);
});

test('without a terminal, pds recover must be confirmed by an option, which the error names', async () => {
  const before = await rowsOf(STATE);
  const { code, stderr } = await callPds(['recover', '--after', '2026-01-01T00:00:00Z'], service.settings);
  expect(code).toBe(2);
  expect(stderr).toContain('Run "pds recover --after 2026-01-01T00:00:00.000Z --yes"');
  expect(await rowsOf(STATE)).toEqual(before);
});

// The terminal does not depend on the database.
if (inject('engine') === 'sqlite') {
  testWith('python').each([
    ['', 1],
    ['no', 1],
    ['yes please', 1],
    ['ctrl-c', 130],
    ['y', 0],
  ])('pds recover asks on a terminal, and %j ends it with %i (needs python3)', async (typed, code) => {
    const before = await rowsOf(STATE);
    const outcome = await runPdsInTerminal(['recover'], service.settings, { text: '[y/N]', typed });
    expect(outcome).toMatchObject({ code, output: expect.stringContaining('reads everything') as string });
    if (code === 0) expect(outcome.output).toContain('Recovered at');
    else expect(await rowsOf(STATE)).toEqual(before);
  });

  testWith('python')('pds recover --json that is answered "no" prints the error as JSON (needs python3)', async () => {
    const { code, output } = await runPdsInTerminal(['recover', '--json'], service.settings, {
      text: '[y/N]',
      typed: 'no',
    });
    expect(code).toBe(1);
    const [json = ''] = /^\{[^]*^\}/m.exec(output) ?? [];
    expect(JSON.parse(json)).toEqual({ error: { message: 'not confirmed; nothing was changed' } });
  });
}

test('a migration does not count as the newest change of partners, grants and keys', async () => {
  const { kysely } = service.database;
  const before = await readTraces(service.database);
  const at = '2999-01-01T00:00:00.000Z';
  await writeAuditEntry(service.database, () => Date.parse(at), { action: 'migrate', details: {} });
  expect(await kysely.selectFrom('access.audit').select('action').where('at', '=', at).execute()).toHaveLength(1);
  expect(await readTraces(service.database)).toEqual(before);
});

import { sql } from 'kysely';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { MIGRATIONS } from '../../src/database/migrations.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeOlderSchema } from '../support/older-schema.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { runCheck, type Checked } from './checked.ts';
import { databaseUrlOf, runPds } from './run-pds.ts';

let made: TestDatabase;

beforeEach(async () => {
  made = await createTestDatabase();
});
afterEach(() => made.drop());

const check = (settings: Record<string, string> = {}, of = made): Promise<Checked> =>
  runCheck({ PDS_DATABASE_URL: databaseUrlOf(of.config), ...settings });

/** The state of partners and releases in which any change would show. */
async function contents(): Promise<unknown> {
  const { kysely } = made.database;
  return [
    await kysely.selectFrom('access.clock').selectAll().execute(),
    await kysely.selectFrom('access.settings').selectAll().orderBy('name').execute(),
    await kysely.selectFrom('access.audit').selectAll().orderBy('id').execute(),
    await kysely.selectFrom('catalog.publications').selectAll().execute(),
  ];
}

/** Records migrations of a future version. */
async function migrateToNewer(): Promise<void> {
  const added = { number: 999, name: 'added in the future', applied_at: '2030-01-01T00:00:00.000Z' };
  for (const group of ['catalog', 'access'] as const) {
    await made.database.kysely.insertInto(`${group}.migrations`).values(added).execute();
  }
}

test('pds check finds nothing wrong where nothing is, and changes nothing', async () => {
  await publishLines(made.database, SMALL_CATALOG);
  await makePartner(made.database, Date.now, { name: 'acme', everything: true });
  const before = await contents();
  const { code, findings, troubles } = await check();
  expect({ code, troubles }).toEqual({ code: 0, troubles: [] });
  const engine = inject('engine') === 'sqlite' ? ['disk'] : ['permissions'];
  const looked = new Set(findings.map(({ about }) => about.replace(/ .*/, '')));
  expect([...looked].sort()).toEqual(['clock', 'database', 'index', 'keys', 'schema', 'settings', ...engine].sort());
  expect(findings.find(({ about }) => about === 'keys')?.message).toBe('1 good in dev');
  expect(await contents()).toEqual(before);
});

test('pds check says in words for each trouble what to do', async () => {
  await migrateToNewer();
  const { code, stdout, stderr } = await runPds(['check'], { PDS_DATABASE_URL: databaseUrlOf(made.config) });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^ok {4}settings: environment dev/);
  expect(stdout).toMatch(/^WARN {2}schema: .* is at 999, .*\n {6}→ this version serves on it, and runs no commands/m);
});

test('pds check lists every setting that is wrong, without its value', async () => {
  const settings = { PDS_PORT: '99999-sesame', PDS_REDIS_URL: 'http://:sesame@localhost', PDS_PROT: 'sesame' };
  const { troubles } = await runCheck(settings, { secrets: ['sesame'] });
  expect(troubles).toEqual([
    expect.stringContaining('fail|settings: PDS_REDIS_URL must be'),
    expect.stringContaining('fail|settings: PDS_PORT must be'),
    expect.stringContaining('fail|settings: PDS_PROT is not a setting'),
  ]);
});

test('pds check tells settings that are right each by itself, and wrong together', async () => {
  const settings = {
    PDS_HOST: '0.0.0.0',
    PDS_ADMIN_HOST: '0.0.0.0',
    PDS_ADMIN_PORT: '8080',
    PDS_TRUSTED_PROXIES: '::/0',
  };
  expect((await check(settings)).troubles).toEqual([
    'fail|settings: partners and administrators cannot both be answered at 0.0.0.0:8080',
    'warn|settings: PDS_HOST is 0.0.0.0 in dev, where the published key of --demo works',
    expect.stringContaining('warn|settings: PDS_TRUSTED_PROXIES has ::/0'),
  ]);
});

test('pds check does not repeat a key that stands where something else should', async () => {
  const { key } = await makePartner(made.database, Date.now, { name: 'acme', everything: true });
  const settings = { PDS_DATABASE_URL: databaseUrlOf(made.config), PDS_ADMIN_HOST: key };
  await runCheck(settings, { secrets: [key] });
  expect((await runPds(['check'], settings)).stdout).not.toContain(key);
});

test('pds check tells a database that is empty, and leaves it so', async () => {
  const empty = await createEmptyDatabase();
  expect((await check({}, empty)).troubles).toEqual(['warn|schema: the database is empty']);
  expect((await check({}, empty)).troubles).toEqual(['warn|schema: the database is empty']);
  await empty.drop();
});

test('pds check tells a schema that is older, and leaves it so', async () => {
  const older = await createEmptyDatabase();
  await makeOlderSchema(older.database, { catalog: 2, access: MIGRATIONS.access.length });
  for (let time = 0; time < 2; time++) {
    const status = inject('engine') === 'sqlite' ? 'warn' : 'fail';
    expect((await check({}, older)).troubles).toEqual([
      expect.stringMatching(new RegExp(`^${status}\\|schema: it is older than this version \\(pending: catalog 3`)),
    ]);
  }
  await older.drop();
});

test('pds check fails where a newer version changed the schema, and warns where it only added to it', async () => {
  await migrateToNewer();
  expect((await check()).troubles).toEqual([expect.stringMatching(/^warn\|schema: .* is at 999/)]);
  const { kysely } = made.database;
  await kysely
    .updateTable('access.settings')
    .set({ value: '999' })
    .where('name', '=', 'oldest_served_catalog')
    .execute();
  expect((await check()).troubles).toEqual([expect.stringMatching(/^fail\|schema: .* is at 999/)]);
});

test('pds check tells where the clock is behind the last event', async () => {
  await publishLines(made.database, SMALL_CATALOG);
  const later = new Date(Date.now() + 3_600_000).toISOString();
  await made.database.kysely.updateTable('access.clock').set({ last_instant: later }).execute();
  const { troubles } = await check();
  expect(troubles).toEqual([
    expect.stringMatching(/^warn\|clock: this machine's clock says .*, and the last event was at/),
  ]);
  expect(troubles[0]).toContain(later);
});

test('pds check tells where partners have seen a publication that the catalog does not hold', async () => {
  await publishLines(made.database, SMALL_CATALOG);
  await sql`delete from catalog.publications`.execute(made.database.kysely);
  expect((await check()).troubles).toEqual([
    expect.stringMatching(/^fail\|history: .* which the catalog does not hold$/),
  ]);
});

test('pds check tells where no key is good, as in another environment’s database', async () => {
  await makePartner(made.database, Date.now, { name: 'acme', everything: true });
  const { troubles } = await check({ PDS_ENVIRONMENT: 'production' });
  expect(troubles).toEqual([
    'warn|keys: none is good in production, which refuses those there are: 1 of the kind test',
  ]);
});

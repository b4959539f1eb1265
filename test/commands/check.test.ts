import { existsSync, readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { expect, inject, test } from 'vitest';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makePartner } from '../support/partners.ts';
import { contract, publishLines, SMALL_CATALOG, solicitation } from '../support/publishing.ts';
import { createPartner } from '../../src/access/partner-admin.ts';
import { runCheck, testProblems, type CheckSetup } from './check-contract.ts';
import { callPds } from './call-pds.ts';
import { changeStored } from '../support/stored-catalog.ts';

const ACME = { name: 'acme', everything: true };

/** Linux 5.14 and newer has this setting, which is off by default. */
const MIGRATES = '/proc/sys/net/ipv4/tcp_migrate_req';
const HANDS_CONNECTIONS_OVER = !existsSync(MIGRATES) || readFileSync(MIGRATES, 'utf8').trim() !== '0';

/** A database with records, after `change`. */
async function published(
  stack: AsyncDisposableStack,
  change: (made: TestDatabase) => Promise<unknown>,
): Promise<CheckSetup> {
  const made = stack.use(await createTestDatabase());
  await publishLines(made.database, SMALL_CATALOG);
  await change(made);
  return made;
}

/** Records migrations of a future version. */
async function migrateToNewer({ database: made }: TestDatabase): Promise<void> {
  const added = { number: 999, name: 'added in the future', applied_at: '2030-01-01T00:00:00.000Z' };
  await changeStored(made, ({ kysely }) => kysely.insertInto('catalog.migrations').values(added).execute());
  await made.kysely.insertInto('access.migrations').values(added).execute();
}

testProblems([
  {
    name: 'every invalid setting without its value',
    reports: [
      /^fail\|settings: PDS_REDIS_URL must be/,
      /^fail\|settings: PDS_PORT must be/,
      /^fail\|settings: PDS_PROT is not a known setting/,
    ],
    cause: () => ({
      settings: { PDS_PORT: '99999-sesame', PDS_REDIS_URL: 'http://:sesame@localhost', PDS_PROT: 'sesame' },
      secrets: ['sesame'],
    }),
  },
  {
    name: 'removals of a release that the catalog does not contain',
    reports: [/^fail\|changes: 1 removals are of releases that the catalog does not contain/],
    cause: (stack) =>
      published(stack, ({ database: opened }) =>
        changeStored(opened, ({ kysely }) =>
          kysely
            .insertInto('catalog.departures')
            .values({ kind: 'contracts', id: 'ctr_1', owner: 'everything', release: 99 })
            .execute(),
        ),
      ),
  },
  {
    name: 'releases that have the number of an earlier event',
    reports: [/^fail\|changes: 1 releases in the log have a number not above that of the event before/],
    cause: (stack) =>
      published(stack, ({ database: { kysely } }) =>
        sql`insert into access.events (at, token, what, release) select '2020-01-01T00:00:00.000Z', '', 'reset', release
          from access.events`.execute(kysely),
      ),
  },
  {
    name: 'valid settings that conflict',
    reports: [
      'fail|settings: the API and the admin server cannot both use 0.0.0.0:8080',
      'warn|settings: PDS_HOST is 0.0.0.0 in dev, where the public key of --demo works',
      /^warn\|settings: PDS_TRUSTED_PROXIES has ::\/0/,
      /^warn\|settings: PDS_REUSE_PORT without PDS_REDIS_URL: .* its limit once per process/,
      ...(HANDS_CONNECTIONS_OVER ? [] : [/^warn\|settings: net\.ipv4\.tcp_migrate_req is 0: /]),
    ],
    cause: async (stack) => ({
      settings: {
        ...stack.use(await createTestDatabase()).settings,
        ...{ PDS_HOST: '0.0.0.0', PDS_ADMIN_HOST: '0.0.0.0', PDS_ADMIN_PORT: '8080', PDS_TRUSTED_PROXIES: '::/0' },
        PDS_REUSE_PORT: 'true',
      },
    }),
  },
  {
    name: 'an empty database',
    reports: ['warn|schema: the database is empty'],
    cause: async (stack) => stack.use(await createEmptyDatabase()),
  },
  {
    name: 'an older schema',
    reports: [/^fail\|schema: the database's catalog schema is at 7, which is older than version 2\.0/],
    cause: (stack) =>
      published(stack, ({ database: opened }) =>
        changeStored(opened, ({ kysely }) => kysely.updateTable('catalog.migrations').set({ number: 7 }).execute()),
      ),
  },
  {
    name: 'grants that name nothing, and partners that see nothing',
    reports: [
      'warn|grants: the catalog does not contain what these partners are granted: ' +
        'bolt (lead entity "le_b"); core (lead entity "le_b", coop "co_x")',
      'warn|grants: these partners see no contract, solicitation or supplier: core; dune',
    ],
    cause: (stack) =>
      published(stack, async ({ database: opened }) => {
        await makePartner(opened, Date.now, { name: 'bolt', leadEntities: ['le_a', 'le_b'] });
        await makePartner(opened, Date.now, { name: 'core', leadEntities: ['le_b'], coops: ['co_x'] });
        await createPartner(opened, Date.now, 'dune', { everything: false });
        const without = { ...SMALL_CATALOG, coops: [], 'lead-entities': [{ id: 'le_a', name: 'City of A' }] };
        const contracts = [{ ...contract('ctr_1'), coop_id: null }];
        const solicitations = [solicitation('sol_1', 1)];
        const options = { replace: true, allowRemovals: true };
        await publishLines(opened, { ...without, contracts, solicitations }, options);
      }),
  },
  {
    name: 'a schema to which a newer version only added',
    reports: [/^warn\|schema: .* is at 999/],
    cause: async (stack) => published(stack, migrateToNewer),
  },
  {
    name: 'a schema that a newer version changed',
    reports: [/^fail\|schema: .* is at 999/],
    cause: async (stack) =>
      published(stack, async (made) => {
        await migrateToNewer(made);
        const setting = made.database.kysely.updateTable('access.settings').set({ value: '999' });
        await setting.where('name', '=', 'oldest_served_catalog').execute();
      }),
  },
  {
    name: 'a clock behind the last event',
    reports: [/^warn\|clock: this machine's clock is at .*, before the last event at 2099-01-01T00:00:00.000Z/],
    cause: async (stack) =>
      published(stack, ({ database: { kysely } }) =>
        sql`insert into access.events (at, token, what, release, file)
          select '2099-01-01T00:00:00.000Z', '', 'reset', release + 1, file from access.events`.execute(kysely),
      ),
  },
  {
    name: 'a release that partners have seen and the catalog does not contain',
    reports: [/^fail\|history: .* that the catalog does not contain$/],
    cause: async (stack) =>
      published(stack, ({ database: opened }) =>
        changeStored(opened, ({ kysely }) => sql`delete from catalog.releases`.execute(kysely)),
      ),
  },
  {
    name: 'that no key is valid, as in the database of another environment',
    reports: ['warn|keys: none is valid in production, which rejects the 1 test keys'],
    cause: async (stack) => {
      const made = stack.use(await createTestDatabase());
      await makePartner(made.database, Date.now, ACME);
      return { settings: { ...made.settings, PDS_ENVIRONMENT: 'production' } };
    },
  },
]);

test('pds check reports no problems with a healthy database, and changes nothing', async () => {
  await using made = await createTestDatabase();
  const { kysely } = made.database;
  await publishLines(made.database, SMALL_CATALOG);
  await makePartner(made.database, Date.now, ACME);
  const contents = async (): Promise<unknown> => [
    await kysely.selectFrom('access.events').selectAll().execute(),
    await kysely.selectFrom('access.settings').selectAll().orderBy('name').execute(),
    await kysely.selectFrom('access.audit').selectAll().orderBy('id').execute(),
    await kysely.selectFrom('catalog.releases').selectAll().execute(),
  ];
  const before = await contents();
  const { code, findings, troubles } = await runCheck({ settings: made.settings });
  expect({ code, troubles }).toEqual({ code: 0, troubles: [] });
  const engine = inject('engine') === 'sqlite' ? ['disk', 'files'] : ['permissions'];
  const subjects = new Set(findings.map(({ about }) => about.replace(/ .*/, '')));
  expect([...subjects].sort()).toEqual(
    ['changes', 'clock', 'database', 'grants', 'index', 'keys', 'schema', 'settings', ...engine].sort(),
  );
  expect(findings.find(({ about }) => about === 'keys')?.message).toBe('1 active in dev');
  expect(await contents()).toEqual(before);
});

test('pds check prints advice for each problem', async () => {
  await using made = await createTestDatabase();
  await publishLines(made.database, SMALL_CATALOG);
  await migrateToNewer(made);
  const { code, stdout, stderr } = await callPds(['check'], made.settings);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^ok {4}settings: environment dev/);
  expect(stdout).toMatch(/^WARN {2}schema: .* is at 999, .*\n {6}→ This version can serve, but not run commands/m);
});

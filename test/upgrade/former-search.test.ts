import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inTransaction, type Database } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrations/migrator.ts';
import {
  numbersInGap,
  openFormerSearch,
  type FormerlySearchedKind,
} from '../../src/publishing/former/former-search.ts';
import { databaseUrlOf, runPds, runPdsOf } from '../commands/run-pds.ts';
import { createClient, listAllPages } from '../support/client.ts';
import { ServicePart } from '../support/cluster/service.ts';
import { Workspace } from '../support/cluster/workspace.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { entriesOf } from '../support/schema/former-search.ts';
import { findLastingPort } from '../support/free-port.ts';
import {
  contract,
  SMALL_CATALOG,
  solicitation,
  supplier,
  withImportDirectory,
  type ImportLines,
} from '../support/publishing.ts';
import { takeOutVersionBefore, VERSION_BEFORE } from './version-before.ts';

const KINDS = ['certifications', 'suppliers', 'contracts', 'solicitations'] as const;

const FIRST: ImportLines = {
  ...SMALL_CATALOG,
  certifications: [...SMALL_CATALOG.certifications, { abbreviation: 'OLD', name: 'Obsolete', type: 'sbe' }],
  suppliers: [
    { ...supplier('sup_1'), about: 'Straße, ΟΔΟΣ, naïve ﬁre-fighting; 7 running' },
    supplier('sup_2'),
    { ...supplier('sup_3'), states_served: [], location: 'Reno, NV' },
  ],
  contracts: [...SMALL_CATALOG.contracts, { ...contract('ctr_9'), description: 'Vehicles and İstanbul' }],
  solicitations: [
    solicitation('sol_1', 1),
    { ...solicitation('sol_2', 2), lead_entity_id: 'le_b', close_at: null },
    { ...solicitation('sol_3', 3), status: 'draft' },
  ],
};

const CHANGES: ImportLines = {
  certifications: [
    { abbreviation: 'MBE', name: 'Minority Owned', type: 'sbe' },
    { abbreviation: 'NEW', name: 'Novel', type: 'technical' },
    { abbreviation: 'OLD', deleted: true },
  ],
  suppliers: [
    { ...supplier('sup_15'), about: 'Brückenstraße' },
    { ...supplier('sup_2'), short_intro: 'Tunnels', states_served: ['NY'] },
    { id: 'sup_3', deleted: true },
  ],
  contracts: [
    { ...contract('ctr_1'), summary: 'Concrete', coop_id: null },
    { ...contract('ctr_15'), supplier_ids: ['sup_15'] },
    { id: 'ctr_9', deleted: true },
  ],
  solicitations: [
    { ...solicitation('sol_0', 10), title: 'Snow removal', close_at: '2031-02-03T04:05:06.789Z' },
    { ...solicitation('sol_1', 1), status: 'closed', close_at: '2027-01-01T00:00:00Z' },
    { ...solicitation('sol_2', 2), status: 'draft' },
    { ...solicitation('sol_3', 3), lead_entity_id: 'le_b' },
  ],
};

const LISTS = [
  ...KINDS,
  ...['paving', 'roads', 'tunnel', 'stra', 'straße', 'BRÜCKEN', 'concrete', 'asphalt', 'snow', 'minority', 'r'].flatMap(
    (q) => KINDS.map((kind) => `${kind}?q=${encodeURIComponent(q)}`),
  ),
  ...['suppliers?state=NY', 'suppliers?state=NV', 'suppliers?state=PA&q=supplier', 'contracts?coop=co_x&q=asphalt'],
  'solicitations?q=main&status=open&closing_after=2030-06-01T00:00:00Z',
];

const COUNTS = ['', '?status=open', '?q=paving', '?lead_entity=le_b', '?closing_before=2030-06-01T00:00:00Z'];

let workspace: Workspace;
let before: string;
let made: TestDatabase[];
/** A key for each database. */
let keys: string[];
/** Migrated to this version's schema. */
let upgraded: TestDatabase;
/** Created by the previous version only. */
let former: TestDatabase;

beforeAll(async () => {
  workspace = new Workspace();
  before = takeOutVersionBefore(workspace.folder);
  made = await Promise.all([createEmptyDatabase(), createEmptyDatabase()]);
  [upgraded, former] = made as [TestDatabase, TestDatabase];
  keys = await Promise.all(
    made.map(async (each) => {
      await formerPds(each, 'migrate');
      await withImportDirectory(FIRST, (directory) => formerPds(each, 'import', directory));
      await formerPds(each, 'partner', 'create', 'acme', '--everything');
      return formerPds(each, 'key', 'issue', 'acme');
    }),
  );
  await migrate(upgraded.database, Date.now);
}, 60_000);
afterAll(async () => {
  await workspace.close();
  for (const each of made) await each.drop();
});

async function formerPds(on: TestDatabase, ...words: string[]): Promise<string> {
  const outcome = await runPdsOf(before, words, { PDS_DATABASE_URL: databaseUrlOf(on.config) });
  expect(outcome, outcome.stderr).toMatchObject({ code: 0 });
  return outcome.stdout.trim();
}

/** Everything that the previous version searches and counts in. */
async function readFormerSearch(database: Database): Promise<unknown> {
  const { kysely } = database;
  const entries = await Promise.all(KINDS.map(async (kind) => [kind, await entriesOf(database, kind)] as const));
  const totals = await sql`select * from catalog.solicitation_totals where total > 0
    order by lead_entity_id, status, month`.execute(kysely);
  const states = await sql`select * from catalog.supplier_states order by supplier_id, state`.execute(kysely);
  return { entries: Object.fromEntries(entries), totals: totals.rows, states: states.rows };
}

async function numbersOf({ kysely }: Database, kind: FormerlySearchedKind): Promise<Map<string, number>> {
  const id = sql.ref(kind === 'certifications' ? 'abbreviation' : 'id');
  const { rows } = await sql<{ id: string; number: number }>`
    select ${id} as id, number from ${sql.table(`catalog.${kind}`)}`.execute(kysely);
  return new Map(rows.map((row) => [row.id, row.number]));
}

test('search entries rewritten from stored records equal those of the previous version', async () => {
  const { database } = upgraded;
  const expected = await readFormerSearch(upgraded.database);
  expect(expected).toEqual(await readFormerSearch(former.database));
  for (const table of [...KINDS.map((kind) => `${kind}_search`), 'supplier_states', 'solicitation_totals'])
    await sql`delete from ${sql.table(`catalog.${table}`)}`.execute(database.kysely);
  expect(await readFormerSearch(upgraded.database)).not.toEqual(expected);
  await inTransaction(database, async (transaction) => {
    const search = await openFormerSearch(transaction);
    for (const kind of KINDS) search?.noteWritten(kind, (await numbersOf(transaction, kind)).values());
    await search?.finish();
  });
  expect(await readFormerSearch(upgraded.database)).toEqual(expected);
});

test("removed records leave nothing in the previous version's search", async () => {
  const removed = { certifications: 'OLD', suppliers: 'sup_3', contracts: 'ctr_9', solicitations: 'sol_2' };
  const { database } = upgraded;
  const transaction = await database.kysely.startTransaction().execute();
  try {
    const within = { ...database, kysely: transaction };
    const search = await openFormerSearch(within);
    for (const kind of KINDS) {
      const numbers = [(await numbersOf(within, kind)).get(removed[kind]) ?? 0];
      search?.noteWritten(kind, numbers);
      await search?.remove(kind, [removed[kind]]);
      await sql`delete from ${sql.table(`catalog.${kind}`)} where ${sql.ref('number')} = ${numbers[0]}`.execute(
        transaction,
      );
    }
    await search?.finish();
    const found = JSON.stringify(await readFormerSearch(within));
    for (const id of Object.values(removed)) expect(found).not.toContain(`"${id}"`);
    expect(found).not.toContain('"le_b"');
    expect(found).toContain('"ctr_1"');
  } finally {
    await transaction.rollback().execute();
  }
});

test(`servers of version ${VERSION_BEFORE.version} list, search and count what this version imports as what their own imports`, async () => {
  await withImportDirectory(CHANGES, async (directory) => {
    const outcome = await runPds(['import', directory], { PDS_DATABASE_URL: databaseUrlOf(upgraded.config) });
    expect(outcome, outcome.stderr).toMatchObject({ code: 0 });
    await formerPds(former, 'import', directory);
  });
  expect(await readFormerSearch(upgraded.database)).toEqual(await readFormerSearch(former.database));
  const [seen, expected] = await Promise.all(made.map(askFormerServer));
  expect(seen).toEqual(expected);
  expect(seen).toMatchObject({
    'suppliers?state=NY': ['sup_2'],
    'solicitations?q=snow': ['sol_0'],
    contracts: ['ctr_1', 'ctr_15', 'ctr_2'],
    'suppliers?q=stra%C3%9Fe': ['sup_1'],
  });
}, 60_000);

/** The ids of every list in order, and every count. */
async function askFormerServer(on: TestDatabase, index: number): Promise<Record<string, unknown>> {
  const key = keys[index] ?? '';
  const settings = { PDS_DATABASE_URL: databaseUrlOf(on.config), PDS_REQUESTS_PER_MINUTE: '1000000' };
  const service = new ServicePart(workspace, await findLastingPort(), settings);
  await service.start(before);
  const client = createClient(service.url);
  const answers: Record<string, unknown> = {};
  for (const list of LISTS) {
    const pages = await listAllPages(client.get, `/v1/${list}`, key, [2]);
    for (const { status, body } of pages) expect(status, `${list}: ${body}`).toBe(200);
    answers[list] = pages.flatMap(({ body }) =>
      (JSON.parse(body) as { data: Record<string, string>[] }).data.map(
        (record) => record['id'] ?? record['abbreviation'],
      ),
    );
  }
  for (const filters of COUNTS) {
    const { body } = await client.get(`/v1/solicitations/count${filters}`, { key });
    answers[`count${filters}`] = (JSON.parse(body) as { total: number }).total;
  }
  client.close();
  expect(await service.stop()).toEqual([0, null]);
  return answers;
}

test('new records get numbers between their neighbours, and without room the error says what to do', () => {
  expect(numbersInGap(2, null, null)).toEqual([65_536, 131_072]);
  expect(numbersInGap(2, 10, null)).toEqual([65_546, 131_082]);
  expect(numbersInGap(2, null, 10)).toEqual([10 - 2 * 65_536, 10 - 65_536]);
  expect(numbersInGap(3, 0, 65_536)).toEqual([16_384, 32_768, 49_152]);
  expect(numbersInGap(3, 1, 5)).toEqual([2, 3, 4]);
  expect(numbersInGap(0, 1, 2)).toEqual([]);
  expect(() => numbersInGap(4, 1, 5)).toThrow(/pds migrate --finish/);
});

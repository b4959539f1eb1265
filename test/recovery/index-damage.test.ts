import { sql } from 'kysely';
import { beforeEach, describe, expect, test } from 'vitest';
import { checkWholeIndex } from '../../src/checks/contents.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { BLOCK_SIZE } from '../../src/index/position-set.ts';
import { verifySample, type IndexFault } from '../../src/checks/verify-index.ts';
import { reindex } from '../../src/recovery/recover.ts';
import { createTestDatabase, databaseForEachTest } from '../support/database.ts';
import { publishLines, SMALL_CATALOG, supplier } from '../support/publishing.ts';
import { changeStored } from '../support/stored-catalog.ts';
import { BLOCKS, CATALOG, described, execute, faultsOf, setPosition } from './indexed-catalog.ts';

async function exchangePositions(database: OpenDatabase, ids: readonly [string, string]): Promise<void> {
  const positionOf = async (id: string): Promise<number> => {
    const { kysely } = database;
    const query = kysely.selectFrom('catalog.solicitations').select('position').where('id', '=', id);
    return (await query.executeTakeFirstOrThrow()).position;
  };
  const [one, other] = [await positionOf(ids[0]), await positionOf(ids[1])];
  await setPosition(database, ids[0], -1);
  await setPosition(database, ids[1], one);
  await setPosition(database, ids[0], other);
}

/** A kind of damage to the index, and the faults that must be found. */
interface Damage {
  readonly name: string;
  readonly damage: (database: OpenDatabase) => Promise<unknown>;
  readonly found: readonly IndexFault[];
  readonly example: string;
}

const DAMAGES: readonly Damage[] = [
  {
    name: 'a row that is missing',
    damage: (database) =>
      execute(database, `delete from catalog.solicitations_index where block = 1 and term = '@status=open'`),
    found: ['missing row'],
    example: '1 missing row ("@status=open" in block 1)',
  },
  {
    name: 'a flipped bit',
    damage: async (database) => {
      const { kysely } = database;
      const isRow = sql`block = 0 and term = '@all'`;
      const { rows } = await sql<{ bits: Uint8Array }>`
        select bits from catalog.contracts_index where ${isRow}`.execute(kysely);
      const bits = Buffer.from(rows[0]?.bits ?? []);
      bits[0] = (bits[0] ?? 0) ^ 4;
      await changeStored(database, ({ kysely: stored }) =>
        sql`update catalog.contracts_index set bits = ${bits} where ${isRow}`.execute(stored),
      );
    },
    found: ['differing row'],
    example: '1 differing row ("@all" in block 0)',
  },
  {
    name: 'a row of a term that no record has',
    damage: (database) =>
      changeStored(database, ({ kysely: stored }) =>
        sql`insert into catalog.suppliers_index (block, term, bits)
          values (2, 'nowhere', ${Buffer.from([0, 0])})`.execute(stored),
      ),
    found: ['superfluous row'],
    example: '1 superfluous row ("nowhere" in block 2)',
  },
  {
    name: 'a block without its rows',
    damage: (database) => execute(database, 'delete from catalog.suppliers_index where block = 0'),
    found: ['missing row'],
    example: 'in block 0)',
  },
  {
    name: 'rows of a block that does not exist',
    damage: (database) =>
      changeStored(database, ({ kysely: stored }) =>
        sql`insert into catalog.suppliers_index (block, term, bits)
          values (7, '@all', ${Buffer.from([0, 0])})`.execute(stored),
      ),
    found: ['unlisted block', 'superfluous row'],
    example: '1 unlisted block (7)',
  },
  {
    name: 'exchanged positions in a block',
    damage: (database) => exchangePositions(database, ['sol_11', 'sol_12']),
    found: ['misplaced record', 'differing row'],
    example: '1 misplaced record (sol_11)',
  },
  {
    name: 'exchanged positions of two blocks',
    damage: (database) => exchangePositions(database, ['sol_11', 'sol_39']),
    found: ['misplaced record', 'differing row'],
    example: 'misplaced record (sol_39)',
  },
  {
    name: 'a position below 0',
    damage: (database) => setPosition(database, 'sol_15', -7),
    found: ['unlisted block', 'differing row'],
    example: 'unlisted block (-1)',
  },
  {
    name: 'a position in a block that does not exist',
    damage: (database) => setPosition(database, 'sol_39', 9 * BLOCK_SIZE),
    found: ['unlisted block', 'missing row', 'differing row'],
    example: '1 unlisted block (9)',
  },
  {
    name: 'a block that is not listed',
    damage: (database) => execute(database, `delete from catalog.index_blocks where kind = 'contracts' and block = 1`),
    found: ['unlisted block'],
    example: '1 unlisted block (1)',
  },
  {
    name: 'no block that is listed',
    damage: (database) => execute(database, 'delete from catalog.index_blocks'),
    found: ['unlisted block'],
    example: 'contracts: 3 unlisted block (0)',
  },
];

describe('index damage is detected, and repaired from the stored records', () => {
  const made = databaseForEachTest();
  beforeEach(() => publishLines(made.database, CATALOG, BLOCKS));

  test.each(DAMAGES)('$name', async ({ damage, found, example }) => {
    const { database } = made;
    expect(await faultsOf(database)).toEqual([]);
    await damage(database);
    const faults = await faultsOf(database);
    for (const fault of found) expect(faults.join('\n')).toContain(fault);
    expect(faults.join('\n')).toContain(example);
    const reported = await checkWholeIndex(made.config, () => undefined);
    expect(reported.map(({ status }) => status)).toContain('fail');
    await reindex(database, { clock: Date.now });
    expect(await faultsOf(database)).toEqual([]);
  });
});

test('sampling a large block detects missing and extra terms, and reports nothing if it is sound', async () => {
  await using made = await createTestDatabase();
  const { database } = made;
  // So many suppliers that terms common to all are stored as bitmaps.
  const suppliers = Array.from({ length: 4_500 }, (_, index) => supplier(`sup_${index + 10_000}`));
  await publishLines(database, { ...SMALL_CATALOG, contracts: [], solicitations: [], suppliers });
  for (let time = 0; time < 5; time += 1) {
    const findings = await verifySample(database);
    expect(described(findings)).toEqual([]);
    expect(findings[0]?.records).toBeGreaterThan(500);
    expect(findings[0]?.records).toBeLessThan(1_025);
  }
  await execute(database, `delete from catalog.suppliers_index where term = '@state=OH'`);
  await execute(
    database,
    `insert into catalog.suppliers_index (block, term, bits) select block, 'zebra', bits from catalog.suppliers_index where term = '@all'`,
  );
  expect(described(await verifySample(database))).toEqual([
    'suppliers: 1 superfluous row ("zebra" in block 0)',
    'suppliers: 1 missing row ("@state=OH" in block 0)',
  ]);
});

import { sql } from 'kysely';
import { beforeEach, describe, expect, test } from 'vitest';
import { INDEXED_KINDS } from '../../src/kinds.ts';
import { reindex } from '../../src/recovery/recover.ts';
import { createTestApp } from '../http/test-app.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { makePartner } from '../support/partners.ts';
import { contract, publishLines, solicitation } from '../support/publishing.ts';
import { BLOCKS, CATALOG, execute, faultsOf } from './indexed-catalog.ts';

let authorization: string;

const service = forEachTest(createTestApp);
beforeEach(async () => {
  await publishLines(service.database, CATALOG, BLOCKS);
  await publishLines(service.database, { solicitations: [{ ...solicitation('sol_90', 90), lead_entity_id: 'le_b' }] });
  const { key } = await makePartner(service.database, Date.now, { name: 'b', leadEntities: ['le_b'] });
  authorization = `Bearer ${key}`;
});

const get = (url: string) => service.app.inject({ url, headers: { authorization } });

/** The number of index rows without a checksum. */
async function countWithout(): Promise<number> {
  let count = 0;
  for (const kind of INDEXED_KINDS) {
    const { rows } = await sql`select 1 from ${sql.table(`catalog.${kind}_index`)} where checksum is null`.execute(
      service.database.kysely,
    );
    count += rows.length;
  }
  return count;
}

/** Replaces the set that shows a partner its solicitations by one of more records, and makes servers read it. */
async function overwrite(columns: readonly string[], term = '@all'): Promise<void> {
  const other = (column: string): string =>
    `${column} = (select ${column} from catalog.solicitations_index where block = 1 and term = '${term}')`;
  await execute(
    service.database,
    `update catalog.solicitations_index set ${columns.map(other).join(', ')}
      where block = (select max(block) from catalog.solicitations_index where term = '@lead_entity=le_b')
        and term = '@lead_entity=le_b'`,
  );
}

describe.each([
  ['without its checksum', ['bits']],
  ['with its checksum', ['bits', 'checksum']],
])("a set overwritten by another's, %s,", (_, columns) => {
  test('fails the requests that need it, with advice in the log, and pds reindex repairs it', async () => {
    await overwrite(columns);
    for (const url of ['/v1/solicitations', '/v1/solicitations/count', '/v1/solicitations/count?q=paving']) {
      const response = await get(url);
      expect(response.statusCode).toBe(500);
      expect(response.payload).not.toContain('sol_');
    }
    expect(service.log()).toMatch(/the index of solicitations is damaged: the set of .*@lead_entity=le_b.*pds reindex/);
    expect((await get('/v1/lead-entities')).statusCode).toBe(200);
    expect((await faultsOf(service.database)).join()).toMatch(/solicitations: 1 damaged row \("@lead_entity=le_b" in/);

    await reindex(service.database, { clock: Date.now });
    expect(await faultsOf(service.database)).toEqual([]);
  });

  test('is not changed by an import, which reports it', async () => {
    await overwrite(columns);
    const added = { ...solicitation('sol_91', 91), lead_entity_id: 'le_b' };
    await expect(publishLines(service.database, { solicitations: [added] })).rejects.toThrow(/Run "pds reindex"/);
    const stored = service.database.kysely.selectFrom('catalog.solicitations').select('id').where('id', '=', 'sol_91');
    expect(await stored.execute()).toEqual([]);
  });
});

test('a flipped bit in a range of terms fails the search, and not others', async () => {
  await execute(
    service.database,
    `update catalog.solicitations_index set checksum = checksum + 1 where term = 'solicitation'`,
  );
  expect((await get('/v1/solicitations/count?q=solicit')).statusCode).toBe(500);
  expect((await get('/v1/solicitations/count?q=paving')).json()).toEqual({ total: 1 });
});

test('first imports, changes, rebuilt blocks and pds reindex give every set its checksum', async () => {
  expect(await countWithout()).toBe(0);
  await publishLines(service.database, {
    contracts: Array.from({ length: 4_200 }, (_, index) => ({
      ...contract(`ctr_new_${index}`),
      supplier_ids: ['sup_10'],
    })),
    solicitations: [{ ...solicitation('sol_15', 6), title: 'A new title' }],
  });
  expect(await countWithout()).toBe(0);
  await reindex(service.database, { clock: Date.now });
  expect(await countWithout()).toBe(0);
  expect(await faultsOf(service.database)).toEqual([]);
});

test('sets without a checksum are read as before, and get one when an import changes them', async () => {
  // As version 1.2 writes a row: it deletes it, and inserts these columns.
  for (const kind of INDEXED_KINDS) {
    const table = `catalog.${kind}_index`;
    await execute(
      service.database,
      `create temporary table before_${kind} as select block, term, bits from ${table}`,
      `delete from ${table}`,
      `insert into ${table} (block, term, bits) select * from before_${kind}`,
    );
  }
  const all = await countWithout();
  expect((await get('/v1/solicitations/count?q=paving')).json()).toEqual({ total: 1 });
  expect(await faultsOf(service.database)).toEqual([]);
  await publishLines(service.database, { solicitations: [{ ...solicitation('sol_15', 6), title: 'A new title' }] });
  expect(await countWithout()).toBeLessThan(all);
  expect(await countWithout()).toBeGreaterThan(0);
  await reindex(service.database, { clock: Date.now });
  expect(await countWithout()).toBe(0);
});

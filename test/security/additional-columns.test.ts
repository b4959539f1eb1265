import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { HttpResponse } from '../support/client.ts';
import { createTestDatabase } from '../support/database.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines, SMALL_CATALOG, solicitation } from '../support/publishing.ts';
import { startServing } from '../support/serving-process.ts';
import type { Database } from '../../src/database/database.ts';
import { changeStored } from '../support/stored-catalog.ts';

const COLUMN = 'unserved-column';

const PATHS = [
  ...['contracts', 'suppliers', 'solicitations', 'certifications', 'lead-entities', 'coops', 'city-services'].flatMap(
    (kind) => [`/v1/${kind}`, `/v1/${kind}?limit=1`],
  ),
  ...['/v1/contracts/ctr_1', '/v1/suppliers/sup_1', '/v1/solicitations/sol_1', '/v1/solicitations/1'],
  ...[
    '/v1/solicitations/count',
    '/v1/contracts/count?q=asphalt',
    '/v1/lead-entities?q=city',
    '/v1/contracts?q=asphalt',
    '/v1/suppliers?state=PA&q=roads',
    '/v1/solicitations?q=paving',
  ],
  ...['/v1/solicitations?status=open&updated_since=2020-01-01T00:00:00Z', '/health', '/openapi.json'],
];

test('an additional column in every table changes no response', async () => {
  await using made = await createTestDatabase();
  const { database, config } = made;
  const full = { ...solicitation('sol_1', 1), documents: [{ id: 1, name: 'Scope' }], notices: [] };
  await publishLines(database, { ...SMALL_CATALOG, solicitations: [full] });
  const { key } = await makePartner(database, Date.now, { name: 'acme', everything: true });
  const getAll = async (): Promise<object[]> => {
    await using serving = startServing(config);
    const client = await serving.client();
    const responses: object[] = [];
    // Twice, since cached responses take another path than new ones.
    for (const path of [...PATHS, ...PATHS]) responses.push(comparable(await client.get(path, { key })));
    return responses;
  };
  const before = await getAll();
  const tables = await listTables(database);
  expect(tables.length).toBeGreaterThan(20);
  const addTo = async ({ kysely }: Database, group: string): Promise<void> => {
    for (const table of tables.filter((name) => name.startsWith(group))) {
      await sql`alter table ${sql.table(table)} add column ${sql.ref(COLUMN)} text default ${sql.lit(COLUMN)}`.execute(
        kysely,
      );
    }
  };
  await addTo(database, 'access.');
  await changeStored(database, (stored) => addTo(stored, 'catalog.'));
  const { rows } = await sql<Record<string, unknown>>`select * from catalog.contracts`.execute(database.kysely);
  expect(rows[0]?.[COLUMN]).toBe(COLUMN);
  const after = await getAll();
  expect(after).toEqual(before);
  expect(JSON.stringify(after)).not.toContain(COLUMN);
  // The same holds for later imports.
  await publishLines(database, { contracts: [{ ...SMALL_CATALOG.contracts[0], name: 'Renamed' }] });
  const changed = JSON.stringify(await getAll());
  expect(changed).toContain('Renamed');
  expect(changed).not.toContain(COLUMN);
}, 120_000);

/** All tables of both groups, except those of SQLite's full-text index. */
async function listTables({ engine, kysely }: Database): Promise<string[]> {
  const query =
    engine === 'postgres'
      ? sql<{ name: string }>`select schemaname || '.' || tablename as name from pg_catalog.pg_tables
          where schemaname in ('catalog', 'access')`
      : sql<{ name: string }>`select 'catalog.' || name as name from catalog.sqlite_schema
          where type = 'table' and name not like '%\\_search%' escape '\\' and name not like 'sqlite%'
          union all select 'access.' || name from access.sqlite_schema where type = 'table' and name not like 'sqlite%'`;
  return (await query.execute(kysely)).rows.map(({ name }) => name);
}

function comparable({ status, headers, body }: HttpResponse): object {
  const { date, 'x-request-id': id, ratelimit, connection, 'keep-alive': keep, ...others } = headers;
  expect([date, id]).not.toContain(undefined);
  return { status, headers: others, body };
}

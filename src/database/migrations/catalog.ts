import { sql } from 'kysely';
import { type Database, type Engine, SchemaVersionError } from '../database.ts';
import {
  bitmapTables,
  certificationTable,
  INDEXED_TABLES,
  linkTables,
  namedRefTables,
  releaseTable,
  recordIndexes,
  recordTables,
} from './catalog-tables.ts';
import type { GroupSchema } from './migration.ts';

/** The tables of the published records and their index. */
export const catalogSchema: GroupSchema = {
  creation: {
    number: 8,
    name: 'tables of the catalog',
    statements: (engine) => [
      releaseTable(engine),
      ...namedRefTables(engine),
      certificationTable(engine),
      ...recordTables(engine),
      ...recordIndexes(engine),
      ...linkTables(engine),
      ...bitmapTables(engine),
    ],
  },
  // Servers of version 1.2 never read the column `number`, and find records by position as this version does.
  upgrade: {
    number: 8,
    name: 'positions as primary keys',
    // Version 1.2 left 5, or 6 after `pds migrate --finish`.
    from: [5, 6],
    check: refuseSharedPositions,
    statements(engine, applied) {
      const checksums = INDEXED_TABLES.map((table) => `alter table catalog.${table}_index add column checksum integer`);
      const former = applied < 6 ? dropFormerSearch() : [];
      // From its first "alter" or "drop" on, PostgreSQL locks readers out: the slow statements come before.
      return engine === 'sqlite'
        ? [...former, ...checksums, ...separateTexts(), ...createAgain()]
        : [...buildKeys(), ...former, ...checksums, ...separateTexts(), ...replaceKeys()];
    },
  },
  oldestServed: 6,
};

/** Imports of version 1.2 could give two records the same position. */
async function refuseSharedPositions({ kysely }: Database): Promise<void> {
  for (const table of INDEXED_TABLES) {
    const { rows } = await sql`select position from ${sql.table(`catalog.${table}`)}
      group by position having position is null or count(*) > 1 limit 1`.execute(kysely);
    if (rows.length === 0) continue;
    throw new SchemaVersionError(
      `the index of ${table} is damaged: two records have the same position. Run "pds reindex" with version 1.2, then ` +
        'migrate again. Nothing was changed',
    );
  }
}

/** Tables and indexes that only servers of version 1.1 read. */
function dropFormerSearch(): string[] {
  const tables = [
    ...['certifications', ...INDEXED_TABLES].map((table) => `${table}_search`),
    ...['solicitation_totals', 'supplier_states'],
  ];
  const indexes = [
    'suppliers_by_changed_publication_number',
    'contracts_by_lead_entity_id_number',
    'contracts_by_coop_id_number',
    'contracts_by_changed_publication_number',
    'solicitations_by_lead_entity_id_number',
    'solicitations_by_lead_entity_id_status_number_close_at',
    'solicitations_by_status_number_close_at',
    'solicitations_by_changed_publication_number_lead_entity_id',
    'solicitations_by_close_at_status_lead_entity_id',
  ];
  return [
    ...tables.map((name) => `drop table catalog.${name}`),
    ...indexes.map((name) => `drop index catalog.${name}`),
  ];
}

/**
 * Version 1.2 stored a supplier's two texts joined. They are its `about` until its line changes, so that it is found by
 * the same words.
 */
function separateTexts(): string[] {
  return [
    'alter table catalog.suppliers rename column searched to about',
    'alter table catalog.suppliers add column short_intro text',
  ];
}

/** SQLite cannot change a primary key. Readers continue with the former tables until the commit. */
function createAgain(): string[] {
  const engine: Engine = 'sqlite';
  const created = [releaseTable(engine), certificationTable(engine), ...recordTables(engine)];
  return [
    ...created.flatMap((statement) => {
      const table = /^create table catalog\.(\w+)/.exec(statement)?.[1] ?? '';
      const columns = columnsIn(statement).join(', ');
      return [
        `alter table catalog.${table} rename to former_${table}`,
        statement,
        // The order of the rows in the new table.
        `insert into catalog.${table} (${columns}) select ${columns} from catalog.former_${table} order by 1`,
        `drop table catalog.former_${table}`,
      ];
    }),
    ...recordIndexes(engine),
  ];
}

function columnsIn(statement: string): string[] {
  return [...statement.matchAll(/[(,]\s+(\w+)/g)].map(([, column]) => column ?? '');
}

function buildKeys(): string[] {
  return INDEXED_TABLES.map((table) => `create unique index ${table}_position on catalog.${table} (position)`);
}

function replaceKeys(): string[] {
  return [
    ...INDEXED_TABLES.flatMap((table) => [
      `alter table catalog.${table} drop column number, drop column hash, alter column line_hash drop default`,
      `alter table catalog.${table} add constraint ${table}_pkey primary key using index ${table}_position`,
      `drop index catalog.${table}_by_position`,
    ]),
    'alter table catalog.suppliers alter column about drop default, alter column about drop not null',
    'alter table catalog.solicitations drop column own_hash',
    'alter table catalog.certifications drop column number, drop constraint certifications_abbreviation_key',
    'alter table catalog.certifications add primary key (abbreviation)',
  ];
}

import { sql } from 'kysely';
import { EPOCH } from '../../timestamp.ts';
import { SchemaVersionError, type Database, type Engine } from '../database.ts';
import { statementsOf, type GroupSchema } from './schema.ts';

const INDEXED_TABLES = ['suppliers', 'contracts', 'solicitations'] as const;

const RECORD = `position POSITION primary key, id TEXT not null unique, line_hash TEXT not null,
  changed_publication bigint not null, updated_at TEXT, document text not null`;

const namedRefTable = (table: string): string =>
  `create table catalog.${table} (id TEXT primary key, name text not null, document text not null)`;

const linkTable = (table: string, owner: string, column: string): string => `
create table catalog.${table} (${owner} TEXT not null, ${column} TEXT not null, primary key (${column}, ${owner}));
index catalog.${table} (${owner})`;

/** Which suppliers the contracts of an owner show, since when. */
const visibilityTable = (table: string, owner: string): string => `
create table catalog.${table} (
  ${owner} TEXT not null, supplier_id TEXT not null, since_publication bigint not null,
  primary key (supplier_id, ${owner}));
index catalog.${table} (${owner}, supplier_id)`;

const indexTable = (kind: string): string => `
create table catalog.${kind}_index (
  block integer not null, term TEXT not null, bits BYTES not null, checksum integer, primary key (block, term))`;

// `ref` is unique once an import is complete, but not at each step: two records may swap theirs.
const TABLES = `
create table catalog.publications (number bigint primary key, instant TEXT not null unique, token TEXT not null);
${['lead_entities', 'coops', 'city_services'].map(namedRefTable).join(';\n')};
create table catalog.certifications (
  abbreviation TEXT primary key, name text not null, type text not null, document text not null);
create table catalog.suppliers (${RECORD},
  certifications_preview text not null, certifications_all text not null, short_intro text, about text);
create table catalog.contracts (${RECORD}, lead_entity_id TEXT not null, coop_id TEXT);
create table catalog.solicitations (${RECORD},
  detail text not null, ref bigint not null, lead_entity_id TEXT not null, status text not null, close_at TEXT,
  updated_publication bigint not null, detail_publication bigint not null);
index catalog.contracts (lead_entity_id, coop_id);
index catalog.contracts (coop_id, lead_entity_id);
index catalog.solicitations (lead_entity_id);
index catalog.solicitations (ref);
${linkTable('supplier_certifications', 'supplier_id', 'abbreviation')};
${linkTable('supplier_city_services', 'supplier_id', 'city_service_id')};
${linkTable('contract_suppliers', 'contract_id', 'supplier_id')};
${linkTable('contract_city_services', 'contract_id', 'city_service_id')};
${visibilityTable('supplier_lead_entities', 'lead_entity_id')};
${visibilityTable('supplier_coops', 'coop_id')};
${INDEXED_TABLES.map(indexTable).join(';\n')};
create table catalog.index_blocks (
  kind TEXT not null, block integer not null, first_id TEXT not null, token TEXT not null, primary key (kind, block));
`;

const FEED_TABLES = `
create table catalog.departures (
  kind TEXT not null, id TEXT not null, owner TEXT not null, release bigint not null, primary key (owner, kind, id));
index catalog.departures (owner, kind, release);
index catalog.departures (release);
create table catalog.feed (complete_before TEXT not null);
insert into catalog.feed (complete_before) values ('${EPOCH}');
`;

/** Compressing bitmaps takes longer than writing them, and saves two percent. */
const UNCOMPRESSED = INDEXED_TABLES.map((kind) => `alter table catalog.${kind}_index alter bits set storage external`);

/** The tables of the published records and their index. */
export const catalogSchema: GroupSchema = {
  number: 8,
  name: 'tables of the catalog',
  create: (engine) => [...statementsOf(engine, TABLES + FEED_TABLES), ...(engine === 'postgres' ? UNCOMPRESSED : [])],
  // Servers of version 1.2 never read the column `number`, and find records by position as this version does.
  upgrade: {
    name: 'positions as primary keys, feed of changes',
    // Version 1.2 left 5, or 6 after `pds migrate --finish`.
    from: [5, 6],
    check: refuseSharedPositions,
    statements(engine, applied) {
      const former = applied < 6 ? dropFormerSearch() : [];
      const changed = [...former, ...ADDED_COLUMNS, ...SEPARATE_TEXTS];
      // No client has followed the feed before.
      const feed = [
        ...statementsOf(engine, FEED_TABLES),
        'update catalog.feed set complete_before = coalesce((select max(instant) from catalog.publications), complete_before)',
      ];
      return engine === 'sqlite'
        ? [...changed, ...createAgain(), ...feed]
        : // From its first "alter" or "drop" on, PostgreSQL locks readers out: the slow statements come before.
          [...BUILD_KEYS, ...changed, ...REPLACE_KEYS, ...feed];
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
  const searched = ['certifications', ...INDEXED_TABLES].map((table) => `${table}_search`);
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
    ...[...searched, 'solicitation_totals', 'supplier_states'].map((name) => `drop table catalog.${name}`),
    ...indexes.map((name) => `drop index catalog.${name}`),
  ];
}

const ADDED_COLUMNS = INDEXED_TABLES.map((table) => `alter table catalog.${table}_index add column checksum integer`);

/**
 * Version 1.2 stored a supplier's two texts joined. They are its `about` until its line changes, so that it is found by
 * the same words.
 */
const SEPARATE_TEXTS = [
  'alter table catalog.suppliers rename column searched to about',
  'alter table catalog.suppliers add column short_intro text',
];

/** SQLite cannot change a primary key. Readers continue with the former tables until the commit. */
function createAgain(): string[] {
  const engine: Engine = 'sqlite';
  const again = statementsOf(engine, TABLES).filter((statement) =>
    /^create (table catalog|index .* on)\W(publications|certifications|suppliers|contracts|solicitations) /.test(
      statement,
    ),
  );
  return again.flatMap((statement) => {
    const table = /^create table catalog\.(\w+)/.exec(statement)?.[1];
    if (table === undefined) return statement;
    const columns = Array.from(statement.matchAll(/[(,]\s*(\w+)/g), ([, column]) => column);
    const values = columns.map((column) => (column === 'detail_publication' ? '0' : column));
    return [
      `alter table catalog.${table} rename to former_${table}`,
      statement,
      // The order of the rows in the new table.
      `insert into catalog.${table} (${columns.join()}) select ${values.join()} from catalog.former_${table} order by 1`,
      `drop table catalog.former_${table}`,
    ];
  });
}

const BUILD_KEYS = INDEXED_TABLES.map(
  (table) => `create unique index ${table}_position on catalog.${table} (position)`,
);

const REPLACE_KEYS = [
  ...INDEXED_TABLES.flatMap((table) => [
    `alter table catalog.${table} drop column number, drop column hash, alter column line_hash drop default`,
    `alter table catalog.${table} add constraint ${table}_pkey primary key using index ${table}_position`,
    `drop index catalog.${table}_by_position`,
  ]),
  'alter table catalog.suppliers alter column about drop default, alter column about drop not null',
  'alter table catalog.solicitations drop column own_hash, add column detail_publication bigint not null default 0',
  'alter table catalog.solicitations alter column detail_publication drop default',
  'alter table catalog.certifications drop column number, drop constraint certifications_abbreviation_key',
  'alter table catalog.certifications add primary key (abbreviation)',
];

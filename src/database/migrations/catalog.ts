import { statementsOf, type GroupSchema } from './schema.ts';

const INDEXED_TABLES = ['suppliers', 'contracts', 'solicitations'] as const;

const RECORD = `position POSITION primary key, id TEXT not null unique, line_hash TEXT not null,
  changed_release bigint not null, updated_at TEXT, document text not null`;

const namedRefTable = (table: string): string =>
  `create table catalog.${table} (id TEXT primary key, name text not null, document text not null)`;

const linkTable = (table: string, owner: string, column: string): string => `
create table catalog.${table} (${owner} TEXT not null, ${column} TEXT not null, primary key (${column}, ${owner}));
index catalog.${table} (${owner})`;

/** Which suppliers the contracts of an owner show, since when. */
const visibilityTable = (table: string, owner: string): string => `
create table catalog.${table} (
  ${owner} TEXT not null, supplier_id TEXT not null, since_release bigint not null,
  primary key (supplier_id, ${owner}));
index catalog.${table} (${owner}, supplier_id)`;

const indexTable = (kind: string): string => `
create table catalog.${kind}_index (
  block integer not null, term TEXT not null, bits BYTES not null, checksum integer, primary key (block, term))`;

// `ref` is unique once an import is complete, but not at each step: two records may swap theirs.
const TABLES = `
create table catalog.releases (number bigint primary key, at TEXT not null unique);
${['lead_entities', 'coops', 'city_services'].map(namedRefTable).join(';\n')};
create table catalog.certifications (
  abbreviation TEXT primary key, name text not null, type text not null, document text not null);
create table catalog.suppliers (${RECORD},
  certifications_preview text not null, certifications_all text not null, short_intro text, about text);
create table catalog.contracts (${RECORD}, lead_entity_id TEXT not null, coop_id TEXT);
create table catalog.solicitations (${RECORD},
  detail text not null, ref bigint not null, lead_entity_id TEXT not null, status text not null, close_at TEXT,
  updated_release bigint not null, detail_release bigint not null);
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
create table catalog.departures (
  kind TEXT not null, id TEXT not null, owner TEXT not null, release bigint not null, primary key (owner, kind, id));
index catalog.departures (owner, kind, release);
index catalog.departures (release);
`;

/** Compressing bitmaps takes longer than writing them, and saves two percent. */
const UNCOMPRESSED = INDEXED_TABLES.map((kind) => `alter table catalog.${kind}_index alter bits set storage external`);

/** The tables of the published records and their index. */
export const catalogSchema: GroupSchema = {
  number: 9,
  name: 'tables of the catalog',
  create: (engine) => [...statementsOf(engine, TABLES), ...(engine === 'postgres' ? UNCOMPRESSED : [])],
  upgrade: null,
  oldestServed: 9,
};

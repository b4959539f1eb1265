import type { Kind } from '../kinds.ts';

/** The version of this layout. Files of version 1 are taken over, others refused. */
export const LAYOUT_VERSION = 2;

/** `PDMr` in ASCII: identifies a copy among SQLite databases. */
export const APPLICATION_ID = 0x50_44_4d_72;

/** The table of each kind. */
export const TABLES: Readonly<Record<Kind, string>> = {
  'lead-entities': 'lead_entities',
  coops: 'coops',
  'city-services': 'city_services',
  certifications: 'certifications',
  suppliers: 'suppliers',
  contracts: 'contracts',
  solicitations: 'stored_solicitations',
};

/** Column name to JSON path in the record, for the main fields. */
const FIELDS: Readonly<Record<Kind, Readonly<Record<string, string>>>> = {
  'lead-entities': { name: 'name' },
  coops: { name: 'name' },
  'city-services': { name: 'name' },
  certifications: { abbreviation: 'abbreviation', name: 'name', type: 'type' },
  suppliers: { name: 'name', location: 'location', email: 'email', website: 'website', updated_at: 'updated_at' },
  contracts: {
    name: 'name',
    lead_entity_id: 'lead_entity.id',
    coop_id: 'coop.id',
    summary: 'summary',
    updated_at: 'updated_at',
  },
  solicitations: {
    ref: 'ref',
    reference_number: 'reference_number',
    title: 'title',
    status: 'status',
    issuing_organization: 'issuing_organization',
    lead_entity_id: 'lead_entity.id',
    open_at: 'open_at',
    close_at: 'close_at',
    questions_due_at: 'questions_due_at',
    intent_to_bid_due_at: 'intent_to_bid_due_at',
    updated_at: 'updated_at',
  },
};

/**
 * Of the solicitations, which can be a million, only the columns that decide `is_open` are stored. All of them would
 * double the time of a first copy (13 s of CPU instead of 9 for a million); the view extracts the others.
 */
const STORED_OF_SOLICITATIONS: readonly string[] = ['status', 'close_at'];

/** Columns are generated from the JSON by SQLite, so the two cannot diverge. */
function tableOf(kind: Kind): string {
  const columns = Object.entries(FIELDS[kind])
    .filter(([name]) => kind !== 'solicitations' || STORED_OF_SOLICITATIONS.includes(name))
    .map(([name, path]) => `,\n  ${name} text generated always as (json_extract(record, '$.${path}')) stored`);
  return `create table ${TABLES[kind]} (id text primary key not null, record text not null${columns.join('')});`;
}

const SOLICITATION_COLUMNS = Object.entries(FIELDS.solicitations)
  .map(([name, path]) =>
    STORED_OF_SOLICITATIONS.includes(name) ? `s.${name}` : `json_extract(s.record, '$.${path}') as ${name}`,
  )
  .join(', ');

/** The API's definition of `is_open`, evaluated at read time. Timestamps in this format sort as text. */
const IS_OPEN = `(s.status = 'open' and (s.close_at is null or s.close_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now')))`;
const RECORD = `json_set(s.record, '$.is_open', json(case when ${IS_OPEN} then 'true' else 'false' end))`;

/** The complete schema. MIRROR.md documents the part that users can rely on. */
export const LAYOUT = `
create table mirror_state (name text primary key not null, value text not null);
create table unreported_changes (
  kind text not null, id text not null, change text not null, primary key (kind, id)
) without rowid;
${Object.keys(TABLES)
  .map((kind) => tableOf(kind as Kind))
  .join('\n')}
create table contract_suppliers (
  contract_id text not null, supplier_id text not null, primary key (contract_id, supplier_id)
) without rowid;
create index contracts_of_supplier on contract_suppliers (supplier_id);
create table contract_city_services (
  contract_id text not null, city_service_id text not null, primary key (contract_id, city_service_id)
) without rowid;
create index contracts_of_city_service on contract_city_services (city_service_id);
create view solicitations as
select s.id, ${SOLICITATION_COLUMNS}, ${IS_OPEN} as is_open, ${RECORD} as record from stored_solicitations as s;
create view solicitation_details as
select s.id, ${IS_OPEN} as is_open, ${RECORD} as detail from stored_solicitations as s;
`;

/**
 * Takes over a copy of layout 1, which stored the details of some solicitations apart. Its records can be read as before
 * until the first listing has replaced them.
 */
export const TAKEOVER = `
drop view solicitations;
drop view solicitation_details;
update stored_solicitations as s set record = d.detail from stored_details as d where d.id = s.id;
drop table stored_details;
${Object.values(TABLES)
  .map((table) => `alter table ${table} rename to former_${table};`)
  .join('\n')}
alter table mirror_state rename to former_state;
${LAYOUT}
${Object.values(TABLES)
  .map(
    (table) => `insert into ${table} (id, record) select id, record from former_${table}; drop table former_${table};`,
  )
  .join('\n')}
drop table former_state;
`;

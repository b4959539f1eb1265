import type { Kind } from '../kinds.ts';

/** The version of this layout. Files with another version are refused. */
export const LAYOUT_VERSION = 1;

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

/** Columns are generated from the JSON by SQLite, so the two cannot diverge. */
function tableOf(kind: Kind, more: string): string {
  const columns = Object.entries(FIELDS[kind]).map(
    ([name, path]) =>
      `${name} ${name === 'ref' ? 'integer' : 'text'} generated always as (json_extract(record, '$.${path}')) stored`,
  );
  return `create table ${TABLES[kind]} (
  id text primary key not null,
  record text not null,
  walk integer not null,
  ${[...columns, ...(more === '' ? [] : [more])].join(',\n  ')}
);`;
}

/** The API's definition of `is_open`, evaluated at read time. Timestamps in this format sort as text. */
const IS_OPEN = `(s.status = 'open' and (s.close_at is null or s.close_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now')))`;
const AS_JSON = `json(case when ${IS_OPEN} then 'true' else 'false' end)`;

/** The complete schema. MIRROR.md documents the part that users can rely on. */
export const LAYOUT = `
create table mirror_state (name text primary key not null, value text not null);
${Object.keys(TABLES)
  .map((kind) => tableOf(kind as Kind, kind === 'solicitations' ? 'detail_due integer not null default 0' : ''))
  .join('\n')}
create table stored_details (
  id text primary key not null references stored_solicitations (id) on delete cascade,
  etag text,
  read_at text not null,
  was_open integer not null,
  detail text not null
);
create view solicitations as
select s.id, ${Object.keys(FIELDS.solicitations)
  .map((name) => `s.${name}`)
  .join(', ')}, ${IS_OPEN} as is_open, json_set(s.record, '$.is_open', ${AS_JSON}) as record
from stored_solicitations as s;
create view solicitation_details as
select s.id, ${IS_OPEN} as is_open, d.read_at, json_set(d.detail, '$.is_open', ${AS_JSON}) as detail
from stored_details as d join stored_solicitations as s on s.id = d.id;
`;

/** Bidding is live at `:now`, or was when the detail was read, so notices can have been added up to the deadline. */
const OPEN_OR_WAS = `(s.status = 'open' and (s.close_at is null or s.close_at > :now)) or d.was_open = 1`;

/** Details that every run reads. */
export const DUE_DETAILS = `
select s.id, d.etag from stored_solicitations as s left join stored_details as d on d.id = s.id
where s.detail_due = 1 or ${OPEN_OR_WAS}
order by d.read_at nulls first, s.id`;

/** The other stored details, least recently read first. */
export const OTHER_DETAILS = `
select s.id, d.etag from stored_solicitations as s join stored_details as d on d.id = s.id
where s.detail_due = 0 and not (${OPEN_OR_WAS})
order by d.read_at, s.id limit :most`;

/** Solicitations that are not open and whose detail was never read. */
export const UNREAD_DETAILS = `
select s.id, null as etag from stored_solicitations as s
where s.detail_due = 0 and not (s.status = 'open' and (s.close_at is null or s.close_at > :now))
  and not exists (select 1 from stored_details as d where d.id = s.id)
order by s.id limit :most`;

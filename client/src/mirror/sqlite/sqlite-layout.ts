import { KINDS, type Kind } from '../kinds.ts';
import { each } from '../store.ts';

/** The version of this layout. Files of others are refused. */
export const LAYOUT_VERSION = 2;

/** `PDMr` in ASCII: identifies a copy among SQLite databases. */
export const APPLICATION_ID = 0x50_44_4d_72;

/** The table of each kind. */
export const TABLES = each(KINDS, (kind) =>
  kind === 'solicitations' ? 'stored_solicitations' : kind.replace('-', '_'),
);

/** The fields that have columns, by their JSON paths. */
const FIELDS: Readonly<Record<Kind, readonly string[]>> = {
  'lead-entities': ['name'],
  coops: ['name'],
  'city-services': ['name'],
  certifications: ['abbreviation', 'name', 'type'],
  suppliers: ['name', 'location', 'email', 'website', 'updated_at'],
  contracts: ['name', 'lead_entity.id', 'coop.id', 'summary', 'updated_at'],
  // These decide `is_open`. If all others were stored, too, a first copy of a million would take 13 s of CPU, not 9.
  solicitations: ['status', 'close_at'],
};

const extract = (path: string): string => `json_extract(record, '$.${path}')`;
const columnOf = (path: string): string => path.replace('.', '_');

/** The columns of the view of solicitations. Those that are not stored are extracted when they are read. */
const SOLICITATION_COLUMNS = [
  ...['ref', 'reference_number', 'title', 'status', 'issuing_organization', 'lead_entity.id'],
  ...['open_at', 'close_at', 'questions_due_at', 'intent_to_bid_due_at', 'updated_at'],
].map((path) => (FIELDS.solicitations.includes(path) ? path : `${extract(path)} as ${columnOf(path)}`));

/** Columns are generated from the JSON by SQLite, so the two cannot diverge. */
function tableOf(kind: Kind): string {
  const columns = FIELDS[kind].map(
    (path) => `,\n  ${columnOf(path)} text generated always as (${extract(path)}) stored`,
  );
  return `create table ${TABLES[kind]} (id text primary key not null, record text not null${columns.join('')});`;
}

/** The API's definition of `is_open`, evaluated at read time. Timestamps in this format sort as text. */
const IS_OPEN = `(status = 'open' and (close_at is null or close_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now')))`;
const RECORD = `json_set(record, '$.is_open', json(case when ${IS_OPEN} then 'true' else 'false' end))`;

/** The complete schema. MIRROR.md documents the part that users can rely on. */
export const LAYOUT = `
create table mirror_state (name text primary key not null, value text not null);
create table unreported_changes (
  kind text not null, id text not null, change text not null, before text, primary key (kind, id)
) without rowid;
${KINDS.map(tableOf).join('\n')}
${['supplier', 'city_service']
  .map(
    (field) => `create table contract_${field}s (
  contract_id text not null, ${field}_id text not null, primary key (contract_id, ${field}_id)
) without rowid;
create index contracts_of_${field} on contract_${field}s (${field}_id);`,
  )
  .join('\n')}
create view solicitations as
select id, ${SOLICITATION_COLUMNS.join(', ')}, ${IS_OPEN} as is_open, ${RECORD} as record from stored_solicitations;
create view solicitation_details as
select id, ${IS_OPEN} as is_open, ${RECORD} as detail from stored_solicitations;
`;

import type { Generated } from 'kysely';
import type { IndexedKind } from '../kinds.ts';

/**
 * Every table, for Kysely. `catalog` holds the published records, `access` who can see them: two schemas on PostgreSQL,
 * two attached files on SQLite.
 *
 * Timestamps are text, UTC with milliseconds (see `timestamp.ts`). A `document` is rendered JSON text; its closing
 * brace is left off if fields are appended on read.
 */
export interface Tables {
  'catalog.migrations': MigrationRow;
  /** Every release, also those that are no longer in the log. */
  'catalog.releases': { number: number; at: string };
  'catalog.lead_entities': NamedRefRow;
  'catalog.coops': NamedRefRow;
  'catalog.city_services': NamedRefRow;
  'catalog.certifications': CertificationRow;
  'catalog.suppliers': SupplierRow;
  'catalog.supplier_certifications': { supplier_id: string; abbreviation: string };
  'catalog.supplier_city_services': { supplier_id: string; city_service_id: string };
  'catalog.supplier_lead_entities': { lead_entity_id: string; supplier_id: string; since_release: number };
  'catalog.supplier_coops': { coop_id: string; supplier_id: string; since_release: number };
  'catalog.contracts': ContractRow;
  'catalog.contract_suppliers': { contract_id: string; supplier_id: string };
  'catalog.contract_city_services': { contract_id: string; city_service_id: string };
  'catalog.solicitations': SolicitationRow;
  'catalog.suppliers_index': IndexRow;
  'catalog.contracts_index': IndexRow;
  'catalog.solicitations_index': IndexRow;
  'catalog.index_blocks': IndexBlockRow;
  'catalog.departures': DepartureRow;
  'access.migrations': MigrationRow;
  'access.settings': { name: string; value: string };
  'access.events': EventRow;
  'access.partners': PartnerRow;
  'access.grants': GrantRow;
  'access.keys': KeyRow;
  'access.usage': UsageRow;
  'access.audit': AuditRow;
}

interface MigrationRow {
  number: number;
  name: string;
  applied_at: string;
}

export interface NamedRefRow {
  id: string;
  name: string;
  document: string;
}

export interface CertificationRow {
  abbreviation: string;
  name: string;
  type: 'sbe' | 'technical';
  document: string;
}

/** The positions within a block of the records that have a term. See `index/position-set.ts`. */
export interface IndexRow {
  block: number;
  term: string;
  bits: Uint8Array;
  /** Null if a version before 1.3 wrote the row. */
  checksum: number | null;
}

interface IndexBlockRow {
  kind: IndexedKind;
  block: number;
  /** The block holds ids from this one up to the next block's first id. */
  first_id: string;
  /** The token of the release that last changed one of its index rows. */
  token: string;
}

/** The last release in which a served record left an owner. Partners with a grant for the owner saw it until then. */
export interface DepartureRow {
  kind: IndexedKind;
  id: string;
  /** `lead_entity:ID`, `coop:ID`, or `everything` for partners that see every record. */
  owner: string;
  release: number;
}

interface PublishedRow {
  /** The primary key: the index block × 65,536 + the position within the block. Negative while the record moves. */
  position: number;
  id: string;
  /** Hash of the imported line: if equal, the line need not be parsed. Empty if unknown. */
  line_hash: string;
  /** The release that last changed the served record. `updated_since` is converted to a release and compared. */
  changed_release: number;
  /** The `updated_at` from the first import; null once a release's timestamp replaced it. */
  updated_at: string | null;
}

export interface SupplierRow extends PublishedRow {
  /** The form embedded in contracts, without its closing brace. */
  document: string;
  certifications_preview: string;
  certifications_all: string;
  /** Searched but not served, like `about`, which also has this text if a version before 1.3 imported the supplier. */
  short_intro: string | null;
  about: string | null;
}

export interface ContractRow extends PublishedRow {
  lead_entity_id: string;
  coop_id: string | null;
  document: string;
}

export interface SolicitationRow extends PublishedRow {
  ref: number;
  lead_entity_id: string;
  status: 'draft' | 'open' | 'closed' | 'awarded' | 'cancelled';
  close_at: string | null;
  /** The release whose timestamp is `updated_at`, unless the record brought its own. */
  updated_release: number;
  /** The release that last changed the detail. 0 if a version before 1.3 imported it. */
  detail_release: number;
  /** The list item, without its closing brace. */
  document: string;
  /** The fields that the detail adds: begins with a comma, no closing brace. */
  detail: string;
}

/** A committed change that running services or clients must notice. `event-log.ts` appends them. */
export interface EventRow {
  /** The commit timestamp, at least two milliseconds after that of the event before. */
  at: string;
  /** Random: two histories that have an event at the same time differ in it. */
  token: string;
  /**
   * `release`; `reset`, after which every client reads everything again; `scope`, what a partner can see: its creation,
   * grants, kinds, suspension, resumption and deletion; `partner`, its limit and name; `key`.
   */
  what: 'release' | 'reset' | 'scope' | 'partner' | 'key';
  /** Null for releases and resets. */
  partner_id: number | null;
  /** Why the partner may have lost sight of records without departures; null if it has not. */
  narrows: Narrowing | null;
  /** The number of the last release or reset, this one included. They are counted together. */
  release: number;
  /** The catalog of a release or reset, beside the log's file. Null on PostgreSQL, and before the first release. */
  file: string | null;
  /** The release or reset that the file was copied from; null if `file` is, or if it was not copied. */
  made_from: number | null;
}

interface PartnerRow {
  id: Generated<number>;
  /** Unique. `acme#7` for the deleted partner `acme` with id 7: no other partner can have a `#`. */
  name: string;
  everything_since: string | null;
  /** The timestamp of the event that suspended it, unless a restore or a version before 2.0 did. */
  suspended_at: string | null;
  requests_per_minute: number | null;
  /** Comma-separated kinds of resource; null for all. */
  kinds: string | null;
  created_at: string;
  /** Null unless it was deleted. It then has no grants, and all its keys are revoked. */
  deleted_at: string | null;
}

export type Narrowing = 'upgrade' | 'creation' | 'revoked grant' | 'change of kinds' | 'resumption';

interface GrantRow {
  partner_id: number;
  kind: 'lead_entity' | 'coop';
  resource_id: string;
  granted_at: string;
}

interface KeyRow {
  /** The public part of the key. */
  id: string;
  partner_id: number;
  /** SHA-256 of the whole key, hexadecimal. The key itself is stored nowhere. */
  digest: string;
  environment: 'live' | 'test';
  created_at: string;
  /** The key is refused from this timestamp on: `issued_expires_at`, or the end of a rotation's overlap. */
  expires_at: string | null;
  /** The expiry that it was issued with; null for never. A rotation does not change it. */
  issued_expires_at: string | null;
  /** The public id of the key that last replaced it. */
  replaced_by: string | null;
  revoked_at: string | null;
  /** The operator's note of what the key is for. */
  label: string | null;
}

/** One key's requests to one endpoint on one day. */
export interface UsageRow {
  /** In UTC, such as `2026-04-15`. */
  day: string;
  partner_id: number;
  key_id: string;
  /** The route, such as `/v1/contracts/:id`. */
  endpoint: string;
  requests: number;
  records: number;
  /** Requests refused with 429. */
  limited: number;
  /** Requests failed with 500. */
  failed: number;
}

export interface AuditRow {
  id: Generated<number>;
  at: string;
  /** The operating system's user, and the machine. */
  actor: string;
  action: string;
  /** The name of the affected partner or key owner; null for none. */
  partner: string | null;
  /** The public ID of the affected key; null for none. */
  key_id: string | null;
  /** JSON with further details. Never a secret. */
  details: string;
}

import type { Generated } from 'kysely';

/**
 * Every table, as Kysely sees it. `catalog` is what is published, `access` who may see it:
 * two schemas on PostgreSQL, two attached files on SQLite.
 *
 * Instants are text, UTC with milliseconds (see `instant.ts`). A `document` is
 * finished JSON text; where something is added when it is read, its closing
 * brace is left off.
 */
export interface Tables {
  'catalog.migrations': MigrationRow;
  'catalog.publications': { number: number; instant: string; token: string };
  'catalog.lead_entities': NamedRefRow;
  'catalog.coops': NamedRefRow;
  'catalog.city_services': NamedRefRow;
  'catalog.certifications': CertificationRow;
  'catalog.suppliers': SupplierRow;
  'catalog.supplier_states': { supplier_id: string; state: string };
  'catalog.supplier_certifications': { supplier_id: string; abbreviation: string };
  'catalog.supplier_city_services': { supplier_id: string; city_service_id: string };
  'catalog.supplier_lead_entities': { lead_entity_id: string; supplier_id: string; since_publication: number };
  'catalog.supplier_coops': { coop_id: string; supplier_id: string; since_publication: number };
  'catalog.contracts': ContractRow;
  'catalog.contract_suppliers': { contract_id: string; supplier_id: string };
  'catalog.contract_city_services': { contract_id: string; city_service_id: string };
  'catalog.solicitations': SolicitationRow;
  'catalog.solicitation_totals': SolicitationTotalRow;
  'catalog.suppliers_index': IndexRow;
  'catalog.contracts_index': IndexRow;
  'catalog.solicitations_index': IndexRow;
  'catalog.index_blocks': IndexBlockRow;
  'access.migrations': MigrationRow;
  'access.settings': { name: string; value: string };
  'access.clock': ClockRow;
  'access.partners': PartnerRow;
  'access.grants': GrantRow;
  /** Each timestamp at which a partner's grants changed. */
  'access.grant_changes': { partner_id: number; instant: string };
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
  number: number;
  abbreviation: string;
  name: string;
  type: 'sbe' | 'technical';
  document: string;
}

/** The positions within a block whose records have a term. */
export interface IndexRow {
  block: number;
  term: string;
  /** See `index/position-set.ts`. */
  bits: Uint8Array;
}

/** A block of the index. */
export interface IndexBlockRow {
  kind: 'suppliers' | 'contracts' | 'solicitations';
  block: number;
  /** Ids from this one to the first id of the next block belong here. */
  first_id: string;
  /** Of the publication that last changed one of its rows in the index. */
  token: string;
}

/** What the rows of suppliers, contracts and solicitations share. */
interface PublishedRow {
  /** Of the row. Servers of version 1.1 order by it, and it ties the record to its entry in the former search. */
  number: number;
  /** The block of the index, times 65,536, plus the position within the block. */
  position: number;
  id: string;
  /** Of the imported record: equal hashes, equal records. */
  hash: string;
  /** Of the line that it was imported from: equal hashes, and the line need not be read. Empty where unknown. */
  line_hash: string;
  /** The publication that last changed what is served. `updated_since` compares its instant. */
  changed_publication: number;
  /** The `updated_at` that the first import brought; null once a publication's instant took its place. */
  updated_at: string | null;
}

export interface SupplierRow extends PublishedRow {
  /** The form embedded in contracts, without its closing brace. */
  document: string;
  certifications_preview: string;
  certifications_all: string;
  /** Texts that are searched and not served, one a line. */
  searched: string;
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
  /** Of the fields that move `updated_at`. */
  own_hash: string;
  /** The publication whose instant is `updated_at`, unless the record brought its own. */
  updated_publication: number;
  /** The list item, without its closing brace. */
  document: string;
  /** What the detail adds to it: begins with a comma, no closing brace. */
  detail: string;
}

/** How many solicitations of a lead entity have this status and close in this month, drafts aside. */
interface SolicitationTotalRow {
  /** Empty for all of them together. */
  lead_entity_id: string;
  status: string;
  /** `2026-11`; empty for no deadline. */
  month: string;
  total: number;
}

/** One row. Its lock is the one under which publications and changes of grants draw their instants. */
interface ClockRow {
  /** Rises with every change of partners, keys or grants and with every publication. */
  version: number;
  /** Random, written by the same change: see `revision.ts`. */
  token: string;
  last_instant: string;
  last_publication: string;
}

export interface PartnerRow {
  id: Generated<number>;
  name: string;
  everything_since: string | null;
  /** The instant of the last grant or revocation. */
  grants_changed_at: string;
  suspended_at: string | null;
  requests_per_minute: number | null;
  /** Comma-separated kinds of resource; null for all. */
  kinds: string | null;
  created_at: string;
}

interface GrantRow {
  partner_id: number;
  kind: 'lead_entity' | 'coop';
  resource_id: string;
  granted_at: string;
}

export interface KeyRow {
  /** The public part of the key. */
  id: string;
  partner_id: number;
  /** SHA-256 of the whole key, hexadecimal. The key itself is stored nowhere. */
  digest: string;
  environment: 'live' | 'test';
  created_at: string;
  /** The first instant at which it is refused: that of `issued_expires_at`, or the end of the overlap of a rotation. */
  expires_at: string | null;
  /** When the life that it was issued with ends; null for never. A rotation leaves it alone. */
  issued_expires_at: string | null;
  /** The public id of the key that was issued in its place last. */
  replaced_by: string | null;
  revoked_at: string | null;
}

/** What one key asked of one endpoint on one day. */
export interface UsageRow {
  /** In UTC, such as `2026-04-15`. */
  day: string;
  partner_id: number;
  key_id: string;
  /** The route, such as `/v1/contracts/:id`. */
  endpoint: string;
  requests: number;
  /** Records in the answers. */
  records: number;
  /** Of the requests, those answered with 429. */
  limited: number;
  /** Of the requests, those answered with 500. */
  failed: number;
}

/** Something that an operator did. */
export interface AuditRow {
  id: Generated<number>;
  at: string;
  /** The operating system's user, and the machine. */
  actor: string;
  /** Such as `key revoke`. */
  action: string;
  /** The name of the partner that it was done to, or to whose key; null for none. */
  partner: string | null;
  /** The public id of the key that it was done to; null for none. */
  key_id: string | null;
  /** JSON: what else there is to say. Never a secret. */
  details: string;
}

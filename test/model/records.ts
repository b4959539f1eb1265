import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/*
 * The model's own types and reader for the import format, deliberately not the service's: a comparison cannot reveal an
 * error that both share.
 */

export interface NamedRef {
  id: string;
  name: string;
}

export interface Certification {
  abbreviation: string;
  name: string;
  type: 'sbe' | 'technical';
}

/** Metadata of a record from its directory and import. */
interface Published {
  id: string;
  /** The served timestamp of the last change. */
  updatedAt: string;
  /** The timestamp of the import that added the record. */
  publishedAt: string;
}

export interface Supplier extends Published {
  name: string;
  short_intro: string | null;
  about: string | null;
  states_served: string[];
  certifications: string[];
  city_service_ids: string[];
  location: string | null;
  logo: string | null;
  email: string | null;
  website: string | null;
}

export interface Contract extends Published {
  name: string;
  summary: string | null;
  description: string | null;
  lead_entity_id: string;
  coop_id: string | null;
  supplier_ids: string[];
  city_service_ids: string[];
}

export interface Solicitation extends Published {
  ref: number;
  reference_number: string;
  title: string;
  status: 'draft' | 'open' | 'closed' | 'awarded' | 'cancelled';
  issuing_organization: string | null;
  lead_entity_id: string;
  open_at: string | null;
  close_at: string | null;
  questions_due_at: string | null;
  intent_to_bid_due_at: string | null;
  description: string | null;
  require_intent_registration: boolean;
  created_at: string;
  nigp_codes: { code: string }[];
  documents: object[];
  requested_items: object[];
  notices: object[];
  questions: object[];
}

/** All published records, each kind by id. */
export interface Records {
  leadEntities: Map<string, NamedRef>;
  coops: Map<string, NamedRef>;
  cityServices: Map<string, NamedRef>;
  certifications: Map<string, Certification>;
  suppliers: Map<string, Supplier>;
  contracts: Map<string, Contract>;
  solicitations: Map<string, Solicitation>;
}

/** A directory in the import format, and the timestamp of its import. */
export interface PublishedDirectory {
  path: string;
  publishedAt: string;
}

type Line = Record<string, unknown>;

/** Optional fields and their defaults: an empty list, or null. */
const LISTS = {
  suppliers: ['states_served', 'certifications', 'city_service_ids'],
  contracts: ['supplier_ids', 'city_service_ids'],
  solicitations: ['nigp_codes', 'documents', 'requested_items', 'notices', 'questions'],
};
const MAYBE_NULL = {
  suppliers: ['short_intro', 'about', 'location', 'logo', 'email', 'website'],
  contracts: ['summary', 'description', 'coop_id'],
  solicitations: [
    'issuing_organization',
    'open_at',
    'close_at',
    'questions_due_at',
    'intent_to_bid_due_at',
    'description',
  ],
};
const MAYBE_NULL_WITHIN: Record<string, string[]> = {
  documents: ['description', 'file_type', 'file_size'],
  requested_items: ['file_type', 'instructions', 'template_document_id'],
  questions: ['answer', 'answered_at'],
};

/**
 * Reads directories in the order in which they were imported.
 *
 * @throws Error if one changes a record of an earlier one: the effect on timestamps is not modelled.
 */
export function readRecords(directories: readonly PublishedDirectory[]): Records {
  const records: Records = {
    leadEntities: new Map(),
    coops: new Map(),
    cityServices: new Map(),
    certifications: new Map(),
    suppliers: new Map(),
    contracts: new Map(),
    solicitations: new Map(),
  };
  for (const { path, publishedAt } of directories) {
    addAll(records.leadEntities, readLines(path, 'lead-entities'));
    addAll(records.coops, readLines(path, 'coops'));
    addAll(records.cityServices, readLines(path, 'city-services'));
    addAll(records.certifications, readLines(path, 'certifications'), 'abbreviation');
    for (const kind of ['suppliers', 'contracts', 'solicitations'] as const) {
      const isFirst = records[kind].size === 0;
      const lines = readLines(path, kind).map((line) => complete(kind, line, publishedAt, isFirst));
      addAll<unknown>(records[kind], lines);
    }
  }
  return records;
}

function readLines(path: string, kind: string): Line[] {
  const file = join(path, `${kind}.ndjson`);
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line.trim() !== '').map((line) => JSON.parse(line) as Line);
}

function addAll<T>(map: Map<string, T>, lines: Line[], key = 'id'): void {
  for (const line of lines) {
    const id = String(line[key]);
    if (map.has(id)) throw new Error(`the model knows no second record of the id ${id}`);
    map.set(id, line as T);
  }
}

function complete(kind: keyof typeof LISTS, line: Line, publishedAt: string, isFirst: boolean): Line {
  const { updated_at: brought, ...fields } = line;
  for (const name of LISTS[kind]) fields[name] ??= [];
  for (const name of MAYBE_NULL[kind]) fields[name] ??= null;
  for (const [name, value] of Object.entries(fields)) {
    if (kind === 'solicitations' && Array.isArray(value)) {
      fields[name] = value.map((item: Line) => completeWithin(name, item));
    } else if (name.endsWith('_at')) fields[name] = timestamp(value);
  }
  const broughtAt = timestamp(brought);
  const keepsBrought = isFirst && broughtAt !== null && broughtAt <= publishedAt;
  return { ...fields, publishedAt, updatedAt: keepsBrought ? broughtAt : publishedAt };
}

function completeWithin(list: string, item: Line): Line {
  const completed = { ...item };
  for (const name of MAYBE_NULL_WITHIN[list] ?? []) completed[name] ??= null;
  for (const [name, value] of Object.entries(completed)) {
    if (name.endsWith('_at')) completed[name] = timestamp(value);
  }
  return completed;
}

/** A timestamp in UTC with milliseconds, finer fractions truncated. */
export function timestamp(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const coarse = value.toUpperCase().replace(/(\.\d{3})\d+/, '$1');
  return new Date(coarse).toISOString();
}

import type { Client } from '../client.ts';
import type { RecordList } from '../lists.ts';

/** The seven lists, in the order in which they are walked: what others name comes first. */
export const KINDS = [
  'lead-entities',
  'coops',
  'city-services',
  'certifications',
  'suppliers',
  'contracts',
  'solicitations',
] as const;

export type Kind = (typeof KINDS)[number];

/** A record as its list gives it. */
export type ListedRecord = Readonly<Record<string, unknown>>;

/** What a walk asks with; `updated_since` only where the kind knows it. */
export interface WalkFilters {
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly updated_since?: string;
}

/** Lists that know `updated_since`. The others are short, and are walked in full each time. */
const CHANGING: readonly Kind[] = ['suppliers', 'contracts', 'solicitations'];

export function knowsChanges(kind: Kind): boolean {
  return CHANGING.includes(kind);
}

export function idOf(kind: Kind, record: ListedRecord): string {
  return String(record[kind === 'certifications' ? 'abbreviation' : 'id']);
}

export function listOf(client: Client, kind: Kind, filters: WalkFilters, signal: AbortSignal): RecordList<unknown> {
  const resources = {
    'lead-entities': client.leadEntities,
    coops: client.coops,
    'city-services': client.cityServices,
    certifications: client.certifications,
    suppliers: client.suppliers,
    contracts: client.contracts,
    solicitations: client.solicitations,
  };
  return resources[kind].list(filters, { signal });
}

/**
 * Whether bidding is live: the interface's rule 1, as of any moment. The service decides it at the moment of a
 * request, so that a copy has to decide it when it is read.
 */
export function isOpenAt(record: ListedRecord, nowMs: number): boolean {
  const { status, close_at: closeAt } = record;
  return status === 'open' && (typeof closeAt !== 'string' || Date.parse(closeAt) > nowMs);
}

/**
 * Whether bidding was live when the service gave this. Which details are read goes by it as well as by this machine's
 * clock: where that is fast, what is announced shortly before a deadline is not missed.
 */
export function isServedOpen(record: ListedRecord): boolean {
  return record['is_open'] === true;
}

/** A record's text to compare by: that a deadline passed is no change of the record. */
export function comparable(kind: Kind, record: ListedRecord): string {
  return JSON.stringify(kind === 'solicitations' ? { ...record, is_open: false } : record);
}

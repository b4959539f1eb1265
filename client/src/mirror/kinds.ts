import type { Client } from '../client.ts';
import type { RecordList } from '../lists.ts';

/** The seven lists, in sync order: referenced kinds come before the kinds that reference them. */
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

/** A record as its list returns it. */
export type ListedRecord = Readonly<Record<string, unknown>>;

/** The query parameters of a listing; `updated_since` only for kinds that support it. */
export interface WalkFilters {
  readonly limit: number;
  readonly cursor: string | undefined;
  readonly updated_since?: string;
}

/** Lists that support `updated_since`. The others are short, so each sync reads them in full. */
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
 * Whether bidding is live at `nowMs`, by the API's definition of `is_open`. The service evaluates it at request time,
 * so a copy must evaluate it at read time.
 */
export function isOpenAt(record: ListedRecord, nowMs: number): boolean {
  const { status, close_at: closeAt } = record;
  return status === 'open' && (typeof closeAt !== 'string' || Date.parse(closeAt) > nowMs);
}

/**
 * Whether bidding was live when the service sent this record. Details are selected by this as well as by the local
 * clock: if that clock is fast, notices published shortly before a deadline are still found.
 */
export function isServedOpen(record: ListedRecord): boolean {
  return record['is_open'] === true;
}

/** A record's JSON for comparison. Ignores `is_open`, because a deadline that passes does not change the record. */
export function comparable(kind: Kind, record: ListedRecord): string {
  return JSON.stringify(kind === 'solicitations' ? { ...record, is_open: false } : record);
}

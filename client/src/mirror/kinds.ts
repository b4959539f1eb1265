/** The kinds in the feed of changes, in its order. */
export const FEED_KINDS = ['contracts', 'solicitations', 'suppliers'] as const;

/** Short lists, which are read whole. */
export const REFERENCE_KINDS = ['lead-entities', 'coops', 'city-services', 'certifications'] as const;

/** All kinds of a copy, as reports list them. */
export const KINDS = [...REFERENCE_KINDS, 'suppliers', 'contracts', 'solicitations'] as const;

export type FeedKind = (typeof FEED_KINDS)[number];
export type ReferenceKind = (typeof REFERENCE_KINDS)[number];
export type Kind = FeedKind | ReferenceKind;

/** A change as the feed has it. The JSON of the record is not parsed, and saved as the service sent it. */
export interface FeedChange {
  readonly kind: FeedKind;
  readonly id: string;
  /** Null if the record was removed. */
  readonly record: string | null;
}

const BEGINNING = /^\{"kind":"([a-z-]+)","id":"([^"\\]+)","(record":|removed":true\}$)/;

/**
 * Reads a line of the feed. In it, the record is the last field, so its JSON is the rest of the line.
 *
 * @throws Error if it is none.
 */
export function readFeedLine(line: string): FeedChange {
  const [beginning = '', name, id = '', field] = BEGINNING.exec(line) ?? [];
  const kind = FEED_KINDS.find((known) => known === name);
  if (kind === undefined) throw new Error(`not a change: ${line.slice(0, 100)}`);
  return { kind, id, record: field === 'record":' ? line.slice(beginning.length, -1) : null };
}

/** The id in a record's JSON; the abbreviation of a certification. @throws SyntaxError if the text is not JSON. */
export function idOf(record: string): string {
  const [, first] = /^\{"id":"([^"\\]+)",/.exec(record) ?? [];
  if (first !== undefined && record.endsWith('}')) return first;
  const { id, abbreviation } = JSON.parse(record) as { id?: string; abbreviation?: string };
  return String(id ?? abbreviation);
}

/**
 * A record's JSON without the one value that time changes: `is_open` is false. Within a string, quotes would be escaped,
 * so this text is always the field.
 */
export function withoutTime(kind: Kind, record: string): string {
  return kind === 'solicitations' ? record.replace('"is_open":true', '"is_open":false') : record;
}

/** A record's JSON as of a moment, on which `is_open` depends. */
export function atTime(kind: Kind, record: string, nowMs: number): string {
  const isOpen = kind === 'solicitations' && closesAtMs(record) > nowMs;
  return isOpen ? record.replace('"is_open":false', '"is_open":true') : record;
}

/** When a solicitation closes, in milliseconds since 1970: `Infinity` if never, `-Infinity` if it is not open. */
export function closesAtMs(record: string): number {
  // Most are not open, and need not be parsed.
  if (!record.includes('"status":"open"')) return -Infinity;
  const { status, close_at: closeAt } = JSON.parse(record) as { status: string; close_at: string | null };
  if (status !== 'open') return -Infinity;
  return closeAt === null ? Infinity : Date.parse(closeAt);
}

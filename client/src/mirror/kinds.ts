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
  const [beginning = '', kind, id = '', field] = BEGINNING.exec(line) ?? [];
  if (beginning === '' || !isFeedKind(kind)) throw new Error(`not a change: ${line.slice(0, 100)}`);
  return { kind, id, record: field === 'record":' ? line.slice(beginning.length, -1) : null };
}

function isFeedKind(kind: string | undefined): kind is FeedKind {
  return FEED_KINDS.some((name) => name === kind);
}

/** The id in a record's JSON. @throws SyntaxError if the text is not JSON. */
export function idOf(kind: Kind, record: string): string {
  const [, first] = kind === 'certifications' ? [] : (/^\{"id":"([^"\\]+)",/.exec(record) ?? []);
  if (first !== undefined && record.endsWith('}')) return first;
  const fields = JSON.parse(record) as Readonly<Record<string, unknown>>;
  return String(fields[kind === 'certifications' ? 'abbreviation' : 'id']);
}

/**
 * A record's JSON without the one value that time changes: `is_open` is false. Within a string, quotes would be escaped,
 * so this text is always the field.
 */
export function withoutTime(kind: Kind, record: string): string {
  return kind === 'solicitations' ? record.replace('"is_open":true', '"is_open":false') : record;
}

/** A solicitation at one moment. */
export interface AtTime {
  readonly record: string;
  /** When it closes, in milliseconds since 1970; null if it is not open or has no deadline. */
  readonly deadlineMs: number | null;
}

/** A solicitation's JSON with the `is_open` of a moment, by the API's definition. */
export function atTime(record: string, nowMs: number): AtTime {
  const closed = withoutTime('solicitations', record);
  // Most are not open, and need not be parsed.
  if (!closed.includes('"status":"open"')) return { record: closed, deadlineMs: null };
  const { status, close_at: closeAt } = JSON.parse(closed) as { status: string; close_at: string | null };
  const closesAtMs = closeAt === null ? Infinity : Date.parse(closeAt);
  if (status !== 'open' || closesAtMs <= nowMs) return { record: closed, deadlineMs: null };
  const open = closed.replace('"is_open":false', '"is_open":true');
  return { record: open, deadlineMs: closesAtMs === Infinity ? null : closesAtMs };
}

import type { Contract, FeedKind, SolicitationDetail, Supplier } from './generated/types.gen.ts';
import { followCursor, queryString, type Query } from './lists.ts';
import { NDJSON, PIECE_RECORDS } from './streams.ts';
import type { RequestOptions, Transport } from './transport.ts';

export const CHANGES_PATH = '/v1/changes';

interface Changed<Kind extends FeedKind, Detail> {
  readonly kind: Kind;
  readonly id: string;
  readonly record: Detail;
  readonly removed?: undefined;
}

/** A record that changed or became visible to you, whole, or the id of one that you can no longer see. */
export type Change =
  | Changed<'contracts', Contract>
  | Changed<'solicitations', SolicitationDetail>
  | Changed<'suppliers', Supplier>
  | { readonly kind: FeedKind; readonly id: string; readonly removed: true; readonly record?: undefined };

export interface ChangeFilters {
  /** The watermark of your last listing. Without it, everything is listed. */
  readonly updated_since?: string | Date | undefined;
  /** Default: all that your key can read. Keep to the same kinds for as long as you keep a copy. */
  readonly kinds?: readonly FeedKind[] | undefined;
  /**
   * The cursor of an earlier listing with the same filters, to continue it. If the service can no longer continue that
   * listing, it throws `ValidationFailedError`: begin again with the same `updated_since`, without a cursor.
   */
  readonly cursor?: string | undefined;
  /** Changes in a piece: 1 to 100,000. */
  readonly limit?: number | undefined;
}

/** The number of records of each kind that you see, as of a watermark. */
export type Totals = Readonly<Partial<Record<FeedKind, number>>>;

/** How a listing of changes ended. */
export interface ChangesEnd {
  /** Whether the listing was complete: drop records of these kinds that it did not have from your copy. */
  readonly reset: boolean;
  /** Save it with the records, and pass it as `updated_since` next time. */
  readonly watermark: string;
  /** To compare your copy with. Null if the service cannot tell, because something was published during the listing. */
  readonly totals: Totals | null;
}

/** Part of a listing of changes. */
export interface ChangesPiece {
  readonly data: Change[];
  /** The `cursor` of the next piece; null on the last piece. */
  readonly nextCursor: string | null;
  /** The same on all pieces of a listing. */
  readonly reset: boolean;
  /** Null until the last piece. */
  readonly watermark: string | null;
  /** On the last piece, as in `ChangesEnd`. */
  readonly totals: Totals | null;
}

/** A piece as it arrived: a change as JSON on each line. */
export interface RawPiece extends Omit<ChangesPiece, 'data'> {
  readonly lines: readonly string[];
}

/** Changes, fetched piece by piece as you read. Each iteration starts over with new requests. */
export interface ChangeList extends AsyncIterable<Change> {
  /** Iterates over the changes. The generator returns how the listing ended, which `for await` does not show. */
  [Symbol.asyncIterator](): AsyncGenerator<Change, ChangesEnd, undefined>;
  /** Iterates over the pieces. One that fails is requested again before any of its changes is returned. */
  pieces(): AsyncGenerator<ChangesPiece, void, undefined>;
}

export function listChanges(transport: Transport, filters: ChangeFilters, options: RequestOptions): ChangeList {
  const pieces = (): AsyncGenerator<ChangesPiece, void, undefined> =>
    followCursor(CHANGES_PATH, { ...filters }, async (query) => {
      const { lines, ...piece } = await readPiece(transport, query, options);
      return { data: lines.map((line) => JSON.parse(line) as Change), ...piece };
    });
  return {
    pieces,
    async *[Symbol.asyncIterator]() {
      for await (const { data, reset, watermark, totals } of pieces()) {
        yield* data;
        if (watermark !== null) return { reset, watermark, totals };
      }
      throw new Error('a listing of changes ended without its last piece');
    },
  };
}

/** Fetches one piece, and again if it fails or is not whole. Throws as `Transport.get` does. */
export async function readPiece(transport: Transport, filters: Query, options: RequestOptions): Promise<RawPiece> {
  const target = `${CHANGES_PATH}${queryString({ limit: PIECE_RECORDS, ...filters, format: 'ndjson' })}`;
  const { data } = await transport.getText({ target, type: NDJSON }, options, parsePiece);
  return data;
}

/** @throws Error if the text does not end with the line that tells how to go on. */
function parsePiece(text: string): RawPiece {
  const lines = text.split('\n');
  const [last = '', rest] = lines.splice(-2);
  const { meta } = JSON.parse(rest === '' && last.startsWith('{"meta":') ? last : '{}') as {
    meta?: { next_cursor: string | null; reset: boolean; watermark: string | null; totals?: Totals | null };
  };
  // Exactly one of cursor and watermark is given. Otherwise, a listing would end early, or never.
  const given = [meta?.next_cursor, meta?.watermark].filter((value) => typeof value === 'string');
  if (typeof meta?.reset !== 'boolean' || given.length !== 1) throw new Error('has no last line: it is not whole');
  const { next_cursor: nextCursor, reset, watermark, totals = null } = meta;
  return { lines, nextCursor, reset, watermark, totals };
}

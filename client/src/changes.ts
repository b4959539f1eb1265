import type { Contract, FeedKind, SolicitationDetail, Supplier } from './generated/types.gen.ts';
import { queryString, type Query } from './lists.ts';
import { NDJSON, PIECE_RECORDS } from './streams.ts';
import type { RequestOptions, Transport } from './transport.ts';

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
  /** The cursor of an earlier listing with the same filters, to continue it. */
  readonly cursor?: string | undefined;
  /** Changes in a piece: 1 to 100,000. */
  readonly limit?: number | undefined;
}

/** How a listing of changes ended. */
export interface ChangesEnd {
  /** Whether the listing was complete: drop records of these kinds that it did not have from your copy. */
  readonly reset: boolean;
  /** Save it with the records, and pass it as `updated_since` next time. */
  readonly watermark: string;
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
}

/** Changes, fetched piece by piece as you read. Each iteration starts over with new requests. */
export class ChangeList implements AsyncIterable<Change> {
  readonly #transport: Transport;
  readonly #filters: ChangeFilters;
  readonly #options: RequestOptions;

  constructor(transport: Transport, filters: ChangeFilters, options: RequestOptions) {
    this.#transport = transport;
    this.#filters = filters;
    this.#options = options;
  }

  /** Iterates over the changes. The generator returns how the listing ended, which `for await` does not show. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Change, ChangesEnd, undefined> {
    for await (const { data, reset, watermark } of this.pieces()) {
      yield* data;
      if (watermark !== null) return { reset, watermark };
    }
    throw new Error('a listing of changes ended without its last piece');
  }

  /** Iterates over the pieces. One that fails is requested again before any of its changes is returned. */
  async *pieces(): AsyncGenerator<ChangesPiece, void, undefined> {
    for (let { cursor } = this.#filters; ;) {
      const { lines, meta } = await readPiece(this.#transport, { ...this.#filters, cursor }, this.#options);
      const data = lines.map((line) => JSON.parse(line) as Change);
      yield { data, nextCursor: meta.next_cursor, reset: meta.reset, watermark: meta.watermark };
      if (meta.next_cursor === null) return;
      cursor = meta.next_cursor;
    }
  }
}

/** The last line of a piece, without which it is not whole. */
export interface PieceMeta {
  readonly next_cursor: string | null;
  readonly reset: boolean;
  /** Null until the last piece. */
  readonly watermark: string | null;
}

/** A piece as it arrived: a change as JSON on each line. */
export interface RawPiece {
  readonly lines: readonly string[];
  readonly meta: PieceMeta;
}

/** Fetches one piece, and again if it fails or is not whole. Throws as `Transport.get` does. */
export async function readPiece(transport: Transport, filters: Query, options: RequestOptions): Promise<RawPiece> {
  const target = `/v1/changes${queryString({ limit: PIECE_RECORDS, ...filters, format: 'ndjson' })}`;
  const flaw = (text: string): string | null => (metaOf(text) === null ? 'has no last line: it is not whole' : null);
  const { data } = await transport.getText({ target, type: NDJSON, flaw, isNewEndpoint: true }, options);
  const meta = metaOf(data);
  if (meta === null) throw new Error('a piece without its last line was accepted');
  return { lines: data.split('\n').slice(0, -2), meta };
}

/** Null if the text does not end with the line that tells how to go on. */
function metaOf(text: string): PieceMeta | null {
  const last = text.slice(text.lastIndexOf('\n', text.length - 2) + 1);
  try {
    const { meta } = JSON.parse(last) as { meta?: Partial<PieceMeta> };
    const [cursor, watermark] = [meta?.next_cursor, meta?.watermark];
    // Exactly one of them is given. Otherwise, a listing would end early, or never.
    const isWhole = typeof cursor === 'string' ? watermark === null : cursor === null && typeof watermark === 'string';
    return isWhole && text.endsWith('\n') && typeof meta?.reset === 'boolean' ? (meta as PieceMeta) : null;
  } catch {
    return null;
  }
}

import type { FastifyRequest } from 'fastify';
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { formatTimestamp } from '../timestamp.ts';

/** The context in which a cursor is valid; in any other it is rejected. */
export interface CursorBinding {
  endpoint: string;
  partnerId: number;
  /** The parsed filters, without `cursor` and `limit`. */
  filters: FastifyRequest['parameters'];
}

/** A position in a full listing. Not a row: the record that it names may no longer exist. */
export interface Position {
  /** The key of the last record returned. */
  after: string;
  /** The watermark of the listing's first page. */
  watermark: string;
}

const WATERMARK_BYTES = 6;
const MAC_BYTES = 16;

/** Encodes a position as opaque, authenticated text. Equal positions give equal text. */
export function encodeCursor(secret: Buffer, binding: CursorBinding, { after, watermark }: Position): string {
  const timestamp = Buffer.alloc(WATERMARK_BYTES);
  timestamp.writeUIntBE(Date.parse(watermark), 0, WATERMARK_BYTES);
  const position = Buffer.concat([timestamp, Buffer.from(after)]);
  return Buffer.concat([position, authenticate(secret, binding, position)]).toString('base64url');
}

/**
 * Decodes a cursor.
 *
 * @returns null if it was modified, truncated, issued for another endpoint, partner or filters, or is another base64url
 *   spelling of the same bytes.
 */
export function decodeCursor(secret: Buffer, binding: CursorBinding, cursor: string): Position | null {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.toString('base64url') !== cursor || bytes.length <= WATERMARK_BYTES + MAC_BYTES) return null;
  const position = bytes.subarray(0, -MAC_BYTES);
  if (!timingSafeEqual(bytes.subarray(-MAC_BYTES), authenticate(secret, binding, position))) return null;
  return {
    watermark: formatTimestamp(position.readUIntBE(0, WATERMARK_BYTES)),
    after: position.toString('utf8', WATERMARK_BYTES),
  };
}

function authenticate(secret: Buffer, { endpoint, partnerId, filters }: CursorBinding, position: Buffer): Buffer {
  const bound = JSON.stringify([endpoint, partnerId, Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1))]);
  return createHmac('sha256', secret).update(bound).update('\n').update(position).digest().subarray(0, MAC_BYTES);
}

/**
 * The HMAC secret of cursors. The first migration generates it and stores it in the database, so that all processes
 * share it.
 */
export async function readCursorSecret({ kysely }: Database): Promise<Buffer> {
  const { value } = await kysely
    .selectFrom('access.settings')
    .select('value')
    .where('name', '=', 'cursor_secret')
    .executeTakeFirstOrThrow();
  return Buffer.from(value, 'hex');
}

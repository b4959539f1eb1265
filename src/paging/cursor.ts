import type { FastifyRequest } from 'fastify';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { formatInstant } from '../instant.ts';

/** What a cursor is bound to: with any other, it is refused. */
export interface CursorBinding {
  endpoint: string;
  partnerId: number;
  /** The filters as they were understood, `cursor` and `limit` aside. */
  filters: FastifyRequest['parameters'];
}

/** Where a walk stands. A position, not a row: the record it names may be gone. */
export interface Position {
  /** The key of the last record that was given. */
  after: string;
  /** The watermark of the walk's first page. */
  watermark: string;
}

const WATERMARK_BYTES = 6;
const MAC_BYTES = 16;

/** Writes a position as an opaque, authenticated text. Equal positions give equal texts. */
export function encodeCursor(secret: Buffer, binding: CursorBinding, { after, watermark }: Position): string {
  const instant = Buffer.alloc(WATERMARK_BYTES);
  instant.writeUIntBE(Date.parse(watermark), 0, WATERMARK_BYTES);
  const position = Buffer.concat([instant, Buffer.from(after)]);
  return Buffer.concat([position, authenticate(secret, binding, position)]).toString('base64url');
}

/**
 * Reads a cursor back.
 *
 * @returns null where it was changed, cut, made for another endpoint, partner or filters, or
 *   spelled in another of the ways that base64url has for the same bytes.
 */
export function decodeCursor(secret: Buffer, binding: CursorBinding, cursor: string): Position | null {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.toString('base64url') !== cursor || bytes.length <= WATERMARK_BYTES + MAC_BYTES) return null;
  const position = bytes.subarray(0, -MAC_BYTES);
  if (!timingSafeEqual(bytes.subarray(-MAC_BYTES), authenticate(secret, binding, position))) return null;
  return {
    watermark: formatInstant(position.readUIntBE(0, WATERMARK_BYTES)),
    after: position.toString('utf8', WATERMARK_BYTES),
  };
}

function authenticate(secret: Buffer, { endpoint, partnerId, filters }: CursorBinding, position: Buffer): Buffer {
  const bound = JSON.stringify([endpoint, partnerId, Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1))]);
  return createHmac('sha256', secret).update(bound).update('\n').update(position).digest().subarray(0, MAC_BYTES);
}

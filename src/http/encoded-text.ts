import type { FastifyReply, FastifyRequest } from 'fastify';
import { entityTag, isUnchanged } from './caching.ts';
import { compress, SMALLEST_LENGTH, type Encoding } from './compression.ts';

type Compressed = Buffer | Promise<Buffer>;

/**
 * A text that can be sent many times: its ETag is computed once, and each encoding is compressed once, on first use.
 */
export class EncodedText {
  readonly etag: string;
  /** Of the plain text as UTF-8, in bytes. */
  readonly length: number;
  /** Called when an encoding was added that takes memory. */
  onGrowth: (() => void) | undefined;
  #text: string | null;
  #plain: Buffer | null = null;
  #wasSent = false;
  readonly #compressed: { br?: Compressed | undefined; gzip?: Compressed | undefined } = {};

  constructor(text: string) {
    this.etag = entityTag(text);
    this.length = Buffer.byteLength(text);
    this.#text = text;
  }

  /** The body in an encoding: available immediately, or a promise for it. */
  encode(encoding: Encoding): string | Compressed {
    if (encoding === 'identity') return this.#plain ?? this.#plainNow();
    return (this.#compressed[encoding] ??= this.#compress(encoding));
  }

  /** Whether compression would save anything. */
  get isWorthCompressing(): boolean {
    return this.length >= SMALLEST_LENGTH;
  }

  /** Memory used by all encodings produced so far, in bytes. */
  get memoryBytes(): number {
    const { br, gzip } = this.#compressed;
    return this.#plainBytes() + bytesOf(br) + bytesOf(gzip);
  }

  #plainBytes(): number {
    if (this.#text === null) return this.length;
    // V8 stores a string with any character outside Latin-1 as two bytes per character.
    return this.#text.length === this.length ? this.length : 2 * this.#text.length;
  }

  /**
   * Returns the string the first time, which for most texts is the only time; after that a buffer, so that the string
   * is not encoded on every send.
   */
  #plainNow(): string | Buffer {
    const text = this.#text ?? '';
    if (!this.#wasSent) {
      this.#wasSent = true;
      return text;
    }
    // Not from Node's buffer pool: a short text would keep a whole pool block alive.
    this.#plain = Buffer.allocUnsafeSlow(this.length);
    this.#plain.write(text);
    this.#text = null;
    this.onGrowth?.();
    return this.#plain;
  }

  #compress(encoding: 'br' | 'gzip'): Promise<Buffer> {
    return compress(this.#text ?? this.#plain ?? '', encoding).then(
      (bytes) => {
        this.#compressed[encoding] = bytes;
        this.onGrowth?.();
        return bytes;
      },
      (error: unknown) => {
        this.#compressed[encoding] = undefined;
        throw error;
      },
    );
  }
}

function bytesOf(compressed: Compressed | undefined): number {
  return compressed instanceof Buffer ? compressed.length : 0;
}

/** Sends a text in the client's preferred encoding, or 304 if the client already has it. */
export function sendEncoded(
  request: FastifyRequest,
  reply: FastifyReply,
  text: EncodedText,
  contentType: string,
): FastifyReply {
  const { headers } = request;
  reply.header('etag', text.etag);
  if (isUnchanged(headers['if-none-match'], text.etag)) return reply.code(304).send();
  const encoding = text.isWorthCompressing ? request.server.chooseEncoding(headers['accept-encoding']) : 'identity';
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  reply.type(contentType);
  const body = text.encode(encoding);
  if (!(body instanceof Promise)) return reply.send(body);
  body.then(
    (bytes) => reply.send(bytes),
    (error: unknown) => reply.removeHeader('content-encoding').removeHeader('etag').send(error),
  );
  return reply;
}

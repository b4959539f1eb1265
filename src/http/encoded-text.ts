import type { FastifyReply, FastifyRequest } from 'fastify';
import { entityTag, isUnchanged } from './caching.ts';
import { compress, SMALLEST_LENGTH, type Encoding } from './compression.ts';

type Compressed = Buffer | Promise<Buffer>;

/**
 * A text that may be sent many times: tagged once, and compressed once for each encoding, when
 * that is first asked for.
 */
export class EncodedText {
  readonly etag: string;
  /** Of the plain text, in bytes. */
  readonly length: number;
  /** Called when a form was added that takes memory. */
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

  /** What goes out in an encoding: at once, or when it is made. */
  encode(encoding: Encoding): string | Compressed {
    if (encoding === 'identity') return this.#plain ?? this.#plainNow();
    return (this.#compressed[encoding] ??= this.#compress(encoding));
  }

  /** Whether another encoding would save anything. */
  get isWorthCompressing(): boolean {
    return this.length >= SMALLEST_LENGTH;
  }

  /** The bytes of memory that all of its forms take, as far as they are made. */
  get memoryBytes(): number {
    const { br, gzip } = this.#compressed;
    return this.#plainBytes() + bytesOf(br) + bytesOf(gzip);
  }

  #plainBytes(): number {
    if (this.#text === null) return this.length;
    // One character outside Latin-1 makes the engine take two bytes for each.
    return this.#text.length === this.length ? this.length : 2 * this.#text.length;
  }

  /** The text itself the first time, which for most is the only one; bytes after that, which need not be converted again. */
  #plainNow(): string | Buffer {
    const text = this.#text ?? '';
    if (!this.#wasSent) {
      this.#wasSent = true;
      return text;
    }
    // Not from the shared pool: a short text would keep all of a block there alive.
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

/** Sends a text in the encoding that the client likes best, or 304 where the client has it already. */
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

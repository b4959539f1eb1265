import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import Negotiator from 'negotiator';

export type Encoding = 'br' | 'gzip' | 'identity';

/** In bytes. A shorter response fits into one packet even uncompressed. */
const MIN_COMPRESSED_LENGTH = 1024;

// 132 bits, so collisions can be ruled out.
const TAG_LENGTH = 22;

// Level 4 of 11: as fast as gzip's default, and 20% smaller on JSON.
const BROTLI = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT },
};

const compressBrotli = promisify(brotliCompress);
const compressGzip = promisify(gzip);

/** The published types lack the `preferred` option, which breaks ties. */
interface PreferringNegotiator {
  encoding(available: readonly string[], options: { preferred: readonly string[] }): string | undefined;
}

/** The client's preferred encoding. If it accepts none of ours it gets plain text, because this API has no 406. */
export function chooseEncoding(accepted: string | undefined): Encoding {
  if (accepted === undefined) return 'identity';
  // Without weights, as nearly all clients send it, the library's two microseconds can be saved.
  if (!/[;*]/.test(accepted)) {
    const names = accepted.toLowerCase().split(/[\s,]+/);
    return names.includes('br') ? 'br' : names.includes('gzip') ? 'gzip' : 'identity';
  }
  const negotiator = new Negotiator({ headers: { 'accept-encoding': accepted } }) as unknown as PreferringNegotiator;
  const chosen = negotiator.encoding(['br', 'gzip', 'identity'], { preferred: ['br', 'gzip'] });
  return chosen === 'br' || chosen === 'gzip' ? chosen : 'identity';
}

/** The weak entity tag of a body: weak because the same content is sent in several encodings. */
export function entityTag(content: string): string {
  return `W/"${hash('sha256', content, 'base64url').slice(0, TAG_LENGTH)}"`;
}

/** A text that can be sent many times: its ETag is computed once, and each encoding is compressed once, on first use. */
export class EncodedText {
  readonly etag: string;
  /** Of the plain text as UTF-8, in bytes. */
  readonly length: number;
  /** Called when an encoding was added that takes memory. */
  onGrowth: (() => void) | undefined;
  #plain: string | Buffer;
  #wasSent = false;
  readonly #compressed = new Map<Encoding, Buffer>();

  constructor(text: string) {
    this.etag = entityTag(text);
    this.length = Buffer.byteLength(text);
    this.#plain = text;
  }

  /** The encoding to send to a client: plain if compression would save nothing. */
  encodingFor(accepted: string | undefined): Encoding {
    return this.length < MIN_COMPRESSED_LENGTH ? 'identity' : chooseEncoding(accepted);
  }

  /** The body in an encoding; null until `compress` has produced it. The plain text is always there. */
  find(encoding: Encoding): string | Buffer | null {
    return encoding === 'identity' ? this.#findPlain() : (this.#compressed.get(encoding) ?? null);
  }

  /** Compresses, in the thread pool. Requests that arrive meanwhile compress again, which is rare and harmless. */
  async compress(encoding: Encoding): Promise<void> {
    if (encoding === 'identity') return;
    const bytes = await (encoding === 'br' ? compressBrotli(this.#plain, BROTLI) : compressGzip(this.#plain));
    this.#compressed.set(encoding, bytes);
    this.onGrowth?.();
  }

  /** Memory used by all encodings produced so far, in bytes. */
  get memoryBytes(): number {
    let bytes = this.#plainBytes();
    for (const { length } of this.#compressed.values()) bytes += length;
    return bytes;
  }

  #plainBytes(): number {
    if (typeof this.#plain !== 'string') return this.length;
    // V8 stores a string with any character outside Latin-1 as two bytes per character.
    return this.#plain.length === this.length ? this.length : 2 * this.#plain.length;
  }

  /**
   * Returns the string the first time, which for most texts is the only time; after that a buffer, so that the string
   * is not encoded on every send.
   */
  #findPlain(): string | Buffer {
    if (!this.#wasSent) {
      this.#wasSent = true;
    } else if (typeof this.#plain === 'string') {
      // Not from Node's buffer pool: a short text would keep a whole pool block alive.
      const bytes = Buffer.allocUnsafeSlow(this.length);
      bytes.write(this.#plain);
      this.#plain = bytes;
      this.onGrowth?.();
    }
    return this.#plain;
  }
}

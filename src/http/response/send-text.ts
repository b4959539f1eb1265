import { hash, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import Negotiator from 'negotiator';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fresh from 'fresh';

export type Encoding = 'zstd' | 'br' | 'gzip' | 'identity';

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

const TEXT_ENCODINGS: readonly Encoding[] = ['br', 'gzip'];

/** The client's preferred encoding of `ours`, best first; plain text if it accepts none, because this API has no 406. */
export function chooseEncoding(accepted: string | undefined, ours = TEXT_ENCODINGS): Encoding {
  if (accepted === undefined) return 'identity';
  const negotiator = new Negotiator({ headers: { 'accept-encoding': accepted } }) as unknown as PreferringNegotiator;
  const chosen = negotiator.encoding([...ours, 'identity'], { preferred: ours });
  return ours.find((name) => name === chosen) ?? 'identity';
}

/** The weak entity tag of a body: weak because the same content is sent in several encodings. */
export function entityTag(content: string | Uint8Array): string {
  return `W/"${hash('sha256', content, 'base64url').slice(0, TAG_LENGTH)}"`;
}

/** A text to send many times: its ETag is computed once, and each encoding is compressed once, on first use. */
export class EncodedText {
  readonly etag: string;
  /** Of the plain text as UTF-8, in bytes. */
  readonly length: number;
  readonly #plain: Buffer;
  readonly #compressed = new Map<Encoding, Buffer>();

  constructor(text: string | Uint8Array) {
    this.etag = entityTag(text);
    // Not into Node's buffer pool: a short text would keep a whole pool block alive.
    const { buffer, byteOffset, byteLength } = typeof text === 'string' ? new TextEncoder().encode(text) : text;
    this.#plain = Buffer.from(buffer, byteOffset, byteLength);
    this.length = this.#plain.byteLength;
  }

  /** The body in an encoding; null until `compress` has produced it. The plain text is always there. */
  find(encoding: Encoding): Buffer | null {
    return encoding === 'identity' ? this.#plain : (this.#compressed.get(encoding) ?? null);
  }

  /** Compresses, in the thread pool. Requests that arrive meanwhile compress again, which is rare and harmless. */
  async compress(encoding: Encoding): Promise<void> {
    if (encoding === 'identity') return;
    const bytes = await (encoding === 'br' ? compressBrotli(this.#plain, BROTLI) : compressGzip(this.#plain));
    this.#compressed.set(encoding, bytes);
  }
}

/** Whether the client has the content with this tag. Its `Cache-Control: no-cache` is meant for intermediate caches. */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  // Fast path: the tag exactly as we sent it. The library handles lists, `*` and the strong form.
  return ifNoneMatch === etag || fresh({ 'if-none-match': ifNoneMatch }, { etag });
}

/** Sends a text in the client's preferred encoding, once it is compressed, or 304 if the client already has it. */
export function sendText(
  request: FastifyRequest,
  reply: FastifyReply,
  text: EncodedText,
  contentType: string,
): FastifyReply {
  const { 'if-none-match': ifNoneMatch, 'accept-encoding': accepted } = request.headers;
  if (isUnchanged(ifNoneMatch, text.etag)) return reply.header('etag', text.etag).code(304).send();
  const encoding = text.length < MIN_COMPRESSED_LENGTH ? 'identity' : chooseEncoding(accepted);
  const body = text.find(encoding);
  if (body === null) {
    text.compress(encoding).then(
      () => sendText(request, reply, text, contentType),
      (error: unknown) => reply.send(error),
    );
    return reply;
  }
  reply.headers({ etag: text.etag, 'content-type': contentType, 'content-length': String(body.byteLength) });
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  return reply.send(body);
}

export const JSON_TYPE = 'application/json; charset=utf-8';

export const REQUEST_ID_HEADER = 'x-request-id';

/** On every response: the browser must trust the declared content type and not sniff the body. */
export const SECURITY_HEADERS = { 'x-content-type-options': 'nosniff' } as const;

/** Under /v1, also of errors: without `Vary`, a cache could mix up partners. HSTS is left to the proxy with TLS. */
export const PARTNER_HEADERS = {
  ...SECURITY_HEADERS,
  vary: 'Authorization, Accept, Accept-Encoding',
  'cache-control': 'private, no-cache',
};

/** Outside /v1, where a link can lead a browser. The pages under /docs relax the policy, and allow caches. */
export const PUBLIC_HEADERS = {
  ...SECURITY_HEADERS,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  vary: 'Accept-Encoding',
  'cache-control': 'no-store',
};

const REQUEST_ID_BYTES = 16;

/** For 256 request IDs: a call for each would take a twentieth of a cached response's time. */
let random = Buffer.alloc(0);

/** Generates a request ID. A client's own is never used: clients quote IDs to support, which looks them up in the log. */
export function createRequestId(): string {
  if (random.length === 0) random = randomBytes(256 * REQUEST_ID_BYTES);
  const id = random.toString('base64url', 0, REQUEST_ID_BYTES);
  random = random.subarray(REQUEST_ID_BYTES);
  return `req_${id}`;
}

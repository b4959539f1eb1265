import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';

export type Encoding = 'br' | 'gzip' | 'identity';

/** In bytes. A shorter response fits into one packet even uncompressed. */
export const SMALLEST_LENGTH = 1024;

// Level 4 of 11: as fast as gzip's default, and 20% smaller on JSON.
const BROTLI = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT },
};

/** Cached Accept-Encoding values. Only a handful exist in practice, one per kind of client. */
const REMEMBERED_SPELLINGS = 64;
const MAX_REMEMBERED_LENGTH = 128;

const compressBrotli = promisify(brotliCompress);
const compressGzip = promisify(gzip);

/** The published types lack the `preferred` option, which breaks ties. */
interface PreferringNegotiator {
  encoding(available: readonly string[], options: { preferred: readonly string[] }): string | undefined;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** `chooseEncoding`, memoized. */
    chooseEncoding(accepted: string | undefined): Encoding;
  }
}

/**
 * Compresses text in an encoding that the client accepts. Must be added after caching, whose tag is computed from the
 * uncompressed text. Buffers are left alone: their sender has already chosen an encoding.
 */
export function addCompression(app: FastifyInstance): void {
  const choose = rememberChoices();
  app.decorate('chooseEncoding', choose);
  app.addHook('onSend', (request, reply, payload, done) => {
    const text = typeof payload === 'string' && payload.length >= SMALLEST_LENGTH ? payload : null;
    const encoding = text === null ? 'identity' : choose(request.headers['accept-encoding']);
    if (text === null || encoding === 'identity') {
      done();
      return;
    }
    reply.header('content-encoding', encoding);
    compress(text, encoding).then((bytes) => done(null, bytes), done);
  });
}

/** The client's preferred encoding. If it accepts none of ours it gets plain text, because this API has no 406. */
export function chooseEncoding(accepted: string | undefined): Encoding {
  if (accepted === undefined) return 'identity';
  const negotiator = new Negotiator({ headers: { 'accept-encoding': accepted } }) as unknown as PreferringNegotiator;
  const chosen = negotiator.encoding(['br', 'gzip', 'identity'], { preferred: ['br', 'gzip'] });
  return chosen === 'br' || chosen === 'gzip' ? chosen : 'identity';
}

function rememberChoices(): typeof chooseEncoding {
  const choices = new LRUCache<string, Encoding>({ max: REMEMBERED_SPELLINGS });
  return (accepted) => {
    if (accepted === undefined) return 'identity';
    const remembered = choices.get(accepted);
    if (remembered !== undefined) return remembered;
    const chosen = chooseEncoding(accepted);
    if (accepted.length <= MAX_REMEMBERED_LENGTH) choices.set(accepted, chosen);
    return chosen;
  };
}

/** Compresses text in the thread pool, off the main thread. */
export function compress(text: string | Buffer, encoding: Exclude<Encoding, 'identity'>): Promise<Buffer> {
  return encoding === 'br' ? compressBrotli(text, BROTLI) : compressGzip(text);
}

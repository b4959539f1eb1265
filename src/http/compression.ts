import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import Negotiator from 'negotiator';

export type Encoding = 'br' | 'gzip' | 'identity';

/** Below this, an answer fits into one packet either way. */
const SMALLEST_LENGTH = 1024;

// Level 4 of 11: as quick as gzip's default, and a fifth smaller on JSON.
const BROTLI = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT },
};

const compressBrotli = promisify(brotliCompress);
const compressGzip = promisify(gzip);

/** The published types do not have the option that breaks ties. */
interface PreferringNegotiator {
  encoding(available: readonly string[], options: { preferred: readonly string[] }): string | undefined;
}

/**
 * Compresses finished text as the client accepts it. To be added after caching, whose tag is
 * of the content before.
 */
export function addCompression(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply, payload) => {
    if (typeof payload !== 'string' || payload.length < SMALLEST_LENGTH) return payload;
    const encoding = chooseEncoding(request.headers['accept-encoding']);
    if (encoding === 'identity') return payload;
    reply.header('Content-Encoding', encoding);
    return compress(payload, encoding);
  });
}

/**
 * The encoding that a client likes best. Where it refuses all of them it gets the plain text:
 * 406 is not a status of this interface.
 */
export function chooseEncoding(accepted: string | undefined): Encoding {
  const negotiator = new Negotiator({ headers: { 'accept-encoding': accepted } }) as unknown as PreferringNegotiator;
  const chosen = negotiator.encoding(['br', 'gzip', 'identity'], { preferred: ['br', 'gzip'] });
  return chosen === 'br' || chosen === 'gzip' ? chosen : 'identity';
}

/** Compresses a text, off the thread that answers requests. */
export function compress(text: string, encoding: Exclude<Encoding, 'identity'>): Promise<Buffer> {
  return encoding === 'br' ? compressBrotli(text, BROTLI) : compressGzip(text);
}

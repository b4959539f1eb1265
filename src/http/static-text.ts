import type { FastifyInstance } from 'fastify';
import { entityTag } from './caching.ts';
import { chooseEncoding, compress } from './compression.ts';

interface PreparedText {
  readonly etag: string;
  readonly identity: Buffer;
  readonly br: Buffer;
  readonly gzip: Buffer;
}

/**
 * A route for a text that stays the same while the process runs. It is made when it is first
 * asked for, and compressed once: no key is needed for these, so that they must cost nothing.
 */
export function registerStaticText(
  app: FastifyInstance,
  path: string,
  contentType: string,
  make: () => Promise<string>,
  headers: Readonly<Record<string, string>> = {},
): void {
  let prepared: PreparedText | undefined;
  app.get(path, { schema: { hide: true } }, async (request, reply) => {
    const text = (prepared ??= await prepare(await make()));
    const encoding = chooseEncoding(request.headers['accept-encoding']);
    if (encoding !== 'identity') reply.header('Content-Encoding', encoding);
    return reply
      .headers({ 'Cache-Control': 'no-cache', ETag: text.etag, ...headers })
      .type(contentType)
      .send(text[encoding]);
  });
}

async function prepare(text: string): Promise<PreparedText> {
  const [br, gzip] = await Promise.all([compress(text, 'br'), compress(text, 'gzip')]);
  return { etag: entityTag(text), identity: Buffer.from(text), br, gzip };
}

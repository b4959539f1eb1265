import type { FastifyInstance } from 'fastify';
import { EncodedText, sendEncoded } from './encoded-text.ts';

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
  let text: EncodedText | undefined;
  app.get(path, { schema: { hide: true } }, async (request, reply) => {
    text ??= new EncodedText(await make());
    return sendEncoded(request, reply.headers({ 'cache-control': 'no-cache', ...headers }), text, contentType);
  });
}

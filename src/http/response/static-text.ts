import type { FastifyInstance } from 'fastify';
import { EncodedText } from './encoded-text.ts';
import { sendText } from './send-text.ts';

/**
 * Registers a route for text that never changes while the process runs. The text is created on the first request and
 * compressed once per encoding: these routes need no key, so they must cost nothing.
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
    return sendText(request, reply.headers({ 'cache-control': 'no-cache', ...headers }), text, contentType);
  });
}

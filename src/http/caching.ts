import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import fresh from 'fresh';

// 132 bits: two contents never share a tag.
const TAG_LENGTH = 22;

/** On every answer under /v1. Without `Vary`, on errors too, a cache would serve one partner's answer to another. */
export const PARTNER_CACHING = {
  vary: 'Authorization, Accept-Encoding',
  'cache-control': 'private, no-cache',
} as const;

const PUBLIC_CACHING = { vary: 'Accept-Encoding', 'cache-control': 'no-store' } as const;

/**
 * Lets a client keep what it got and ask whether it is still so. An answer under /v1 belongs to
 * the partner who asked and is asked for again each time; its `ETag` is weak, since the same
 * content goes out in several encodings. What may not be kept has `no-store` and no tag.
 */
export function addCaching(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    // Fastify's own hook for HEAD fails where there is no body, as on 304. It is not missed: Node sends none to HEAD.
    if (route.method === 'HEAD') delete route.onSend;
  });
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(request.needsKey ? PARTNER_CACHING : PUBLIC_CACHING);
    done();
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    const etag = tagOf(reply, payload);
    if (etag === null) {
      done();
      return;
    }
    reply.header('etag', etag);
    if (!isUnchanged(request.headers['if-none-match'], etag)) {
      done();
      return;
    }
    reply.code(304).removeHeader('content-type').removeHeader('content-encoding').removeHeader('content-length');
    done(null, null);
  });
}

/** The weak entity tag of a content. */
export function entityTag(content: string): string {
  return `W/"${hash('sha256', content, 'base64url').slice(0, TAG_LENGTH)}"`;
}

/**
 * Whether the client has the content with this tag.
 *
 * @param asked the `If-None-Match` of the request. Only this header counts: a client's
 *   `Cache-Control: no-cache` is for the caches on the way.
 */
export function isUnchanged(asked: string | undefined, etag: string): boolean {
  if (asked === undefined) return false;
  // As clients send it back. A list, `*` and the strong form are for the library to read.
  return asked === etag || fresh({ 'if-none-match': asked }, { etag });
}

/** Null for an answer that is to have none, or has one: who sends finished content has compared it already. */
function tagOf(reply: FastifyReply, payload: unknown): string | null {
  if (typeof payload !== 'string' || reply.statusCode !== 200 || reply.hasHeader('etag')) return null;
  return reply.getHeader('cache-control') === 'no-store' ? null : entityTag(payload);
}

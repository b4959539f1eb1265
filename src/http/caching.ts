import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import fresh from 'fresh';

// 132 bits, so collisions can be ruled out.
const TAG_LENGTH = 22;

/**
 * On every response under /v1, errors included: without `Vary`, a cache could serve one partner's response to another.
 */
export const PARTNER_CACHING = {
  vary: 'Authorization, Accept-Encoding',
  'cache-control': 'private, no-cache',
} as const;

const PUBLIC_CACHING = { vary: 'Accept-Encoding', 'cache-control': 'no-store' } as const;

/**
 * Enables conditional requests. Responses under /v1 are private to the partner and must be revalidated each time. Their
 * `ETag` is weak because the same content is sent in several encodings. Responses with `no-store` get no tag.
 */
export function addCaching(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    // Fastify's onSend hook for HEAD fails on responses without a body, such as 304. Node strips HEAD bodies anyway.
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

/** The weak entity tag of a body. */
export function entityTag(content: string): string {
  return `W/"${hash('sha256', content, 'base64url').slice(0, TAG_LENGTH)}"`;
}

/**
 * Whether the client already has the content with this tag.
 *
 * @param asked the request's `If-None-Match`. No other header counts: `Cache-Control: no-cache` from a client is meant
 *   for intermediate caches.
 */
export function isUnchanged(asked: string | undefined, etag: string): boolean {
  if (asked === undefined) return false;
  // Fast path: the tag exactly as we sent it. The library handles lists, `*` and the strong form.
  return asked === etag || fresh({ 'if-none-match': asked }, { etag });
}

/** Null if the response must not have a tag or already has one, in which case its sender has already compared it. */
function tagOf(reply: FastifyReply, payload: unknown): string | null {
  if (typeof payload !== 'string' || reply.statusCode !== 200 || reply.hasHeader('etag')) return null;
  return reply.getHeader('cache-control') === 'no-store' ? null : entityTag(payload);
}

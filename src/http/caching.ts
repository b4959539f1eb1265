import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import fresh from 'fresh';
import { needsKey } from './request-target.ts';

// 132 bits: two contents never share a tag.
const TAG_LENGTH = 22;

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
  app.addHook('onRequest', async (request, reply) => {
    const isPrivate = needsKey(request);
    // On every answer, errors too: a cache that has seen none without it would serve one partner's answer to another.
    reply.header('Vary', isPrivate ? 'Authorization, Accept-Encoding' : 'Accept-Encoding');
    reply.header('Cache-Control', isPrivate ? 'private, no-cache' : 'no-store');
  });
  app.addHook('onSend', async (request, reply, payload) => {
    if (reply.statusCode !== 200 || reply.getHeader('cache-control') === 'no-store') return payload;
    const etag = tagOf(reply, payload);
    if (etag === null) return payload;
    reply.header('ETag', etag);
    // Only this header counts: a client's "Cache-Control: no-cache" is for the caches on the way.
    if (!fresh({ 'if-none-match': request.headers['if-none-match'] }, { etag })) return payload;
    reply.code(304).removeHeader('content-type').removeHeader('content-encoding').removeHeader('content-length');
    return null;
  });
}

/** The weak entity tag of a content. */
export function entityTag(content: string): string {
  return `W/"${hash('sha256', content, 'base64url').slice(0, TAG_LENGTH)}"`;
}

function tagOf(reply: FastifyReply, payload: unknown): string | null {
  const given = reply.getHeader('etag');
  if (typeof given === 'string') return given;
  return typeof payload === 'string' ? entityTag(payload) : null;
}

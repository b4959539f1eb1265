import type { FastifyInstance } from 'fastify';

/** On every response: the browser must trust the declared content type and not sniff the body. */
export const SECURITY_HEADERS = { 'x-content-type-options': 'nosniff' } as const;

/**
 * Added on paths that need no key, since a link can lead a browser there: nothing on them can execute or be framed, and
 * no referrer is sent. The pages under /docs relax the first of these.
 */
const PUBLIC_SECURITY_HEADERS = {
  ...SECURITY_HEADERS,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
} as const;

/** Sets the security headers. HSTS is left to the proxy that terminates TLS. */
export function addSecurityHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(request.needsKey ? SECURITY_HEADERS : PUBLIC_SECURITY_HEADERS);
    done();
  });
}

import type { FastifyInstance } from 'fastify';

/** On every answer: a browser takes it for what its type says, whatever its text looks like. */
export const SECURITY_HEADERS = { 'x-content-type-options': 'nosniff' } as const;

/**
 * Besides, on what a browser can be sent to, since it needs no key: nothing in it may be run or
 * framed, and nobody is told where the reader came from. The pages under /docs loosen the first.
 */
const PUBLIC_SECURITY_HEADERS = {
  ...SECURITY_HEADERS,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
} as const;

/** Tells browsers what they may do with an answer. Encryption is promised by whoever ends TLS, not here. */
export function addSecurityHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(request.needsKey ? SECURITY_HEADERS : PUBLIC_SECURITY_HEADERS);
    done();
  });
}

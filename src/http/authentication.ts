import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { FoundPartner, PartnerDirectory } from '../access/partner-directory.ts';
import type { Admission } from './admission.ts';
import { tooManyFailures, unauthorized } from './errors.ts';
import { finishHook } from './finish-hook.ts';
import { onlyHeader } from './raw-headers.ts';
import type { KnownRequests } from './cached-responses.ts';
import type { RateLimitResult, RateLimiter } from './request-counts.ts';

const BEARER = /^bearer +([^ ]+)$/i;

/**
 * 401: resolves the API key of every request under /v1 to its partner, even if the path does not exist.
 * After `FAILURES_PER_MINUTE` failures from one address in a minute, further failures from it get 429. Requests with a
 * valid key are unaffected.
 */
export function addAuthentication(
  app: FastifyInstance,
  directory: PartnerDirectory,
  rateLimiter: RateLimiter,
  { known, admission }: { known: KnownRequests; admission: Admission },
): void {
  const accept = (request: FastifyRequest, { partner, keyId }: FoundPartner): void => {
    request.partner = partner;
    request.keyId = keyId;
  };
  const refuse = ({ isExceeded, resetSeconds }: RateLimitResult): void => {
    throw isExceeded ? tooManyFailures(resetSeconds) : unauthorized();
  };
  const findByHeaders = (rawHeaders: readonly string[]): ReturnType<PartnerDirectory['findByKey']> => {
    const key = readBearerKey(rawHeaders);
    if (key === null) return null;
    admission.beginLookUp();
    const found = directory.findByKey(key);
    if (found instanceof Promise) return found.finally(() => admission.endLookUp());
    admission.endLookUp();
    return found;
  };
  app.addHook('onRequest', (request, _reply, done) => {
    if (!request.needsKey) {
      done();
      return;
    }
    const found = known.get(request.raw)?.found ?? findByHeaders(request.raw.rawHeaders);
    if (found instanceof Promise) {
      found
        .then(async (later) =>
          later === null ? refuse(await rateLimiter.countFailure(request.ip)) : accept(request, later),
        )
        .then(() => done(), done);
    } else if (found === null) {
      finishHook(rateLimiter.countFailure(request.ip), refuse, done);
    } else {
      accept(request, found);
      done();
    }
  });
}

/**
 * Reads the bearer key from a request's only Authorization header.
 *
 * @param rawHeaders alternating names and values, as received: Node drops a second Authorization header from the parsed
 *   headers, and we must not guess which of two counts.
 * @returns null if the header is missing, repeated, or uses another scheme.
 */
export function readBearerKey(rawHeaders: readonly string[]): string | null {
  const value = onlyHeader(rawHeaders, 'authorization');
  return value === null ? null : (BEARER.exec(value)?.[1] ?? null);
}

import type { FastifyInstance } from 'fastify';
import type { PartnerDirectory } from '../access/partner-directory.ts';
import { rateLimited, unauthorized } from './errors.ts';
import type { RequestLimits } from './request-limits.ts';
import { needsKey } from './request-target.ts';

const BEARER = /^bearer +([^ ]+)$/i;

/**
 * 401: finds the partner behind the key of every request under /v1, also where the path does
 * not exist. One address may fail so often a minute; after that its failures, and only they,
 * are answered with 429.
 */
export function addAuthentication(app: FastifyInstance, directory: PartnerDirectory, limits: RequestLimits): void {
  app.addHook('onRequest', async (request) => {
    if (!needsKey(request)) return;
    const key = readBearerKey(request.raw.rawHeaders);
    const found = key === null ? null : await directory.findByKey(key);
    if (found === null) {
      const { isExceeded, resetSeconds } = await limits.countFailure(request.ip);
      throw isExceeded ? rateLimited(resetSeconds) : unauthorized();
    }
    request.partner = found.partner;
    request.keyId = found.keyId;
  });
}

/**
 * The key of the one Authorization header of a request.
 *
 * @param rawHeaders names and values in turn, as they came: Node drops a second Authorization
 *   header from the parsed ones, and which of two would count is not for us to guess.
 * @returns null where there is no such header, more than one, or another scheme.
 */
export function readBearerKey(rawHeaders: readonly string[]): string | null {
  const values = rawHeaders.filter((_, index) => index % 2 === 1 && isAuthorization(rawHeaders[index - 1]));
  const [value, ...others] = values;
  return value === undefined || others.length > 0 ? null : (BEARER.exec(value)?.[1] ?? null);
}

function isAuthorization(name: string | undefined): boolean {
  return name?.toLowerCase() === 'authorization';
}

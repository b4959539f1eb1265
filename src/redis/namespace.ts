import { createHmac } from 'node:crypto';
import type { Environment } from '../config.ts';

/**
 * The prefix of all our Redis keys: `pds:` and a token shared by all processes of one installation and by no other.
 * Partner IDs start at 1 in each installation, so two installations on one Redis would otherwise count each other's
 * requests. The token is an HMAC of the environment with the cursor secret, which it does not reveal. The environment
 * is included because a test installation is often a copy of production, secret included.
 */
export function redisNamespace(cursorSecret: Buffer, environment: Environment): string {
  const word = createHmac('sha256', cursorSecret).update(`redis ${environment}`).digest('base64url');
  return `pds:${word.slice(0, 16)}`;
}

import { createHmac } from 'node:crypto';
import type { Environment } from '../config.ts';

/**
 * What the names of all keys in Redis begin with: `pds:` and a word that all processes of one
 * installation share, and no other installation has. Partners are numbered from 1 in each, so
 * that two on one Redis would count each other's requests otherwise. It is made of the secret
 * for cursors, which cannot be found out from it, and of the environment, since a test
 * installation is often a copy of the productive one, secret included.
 */
export function redisNamespace(cursorSecret: Buffer, environment: Environment): string {
  const word = createHmac('sha256', cursorSecret).update(`redis ${environment}`).digest('base64url');
  return `pds:${word.slice(0, 16)}`;
}

import { randomUUID } from 'node:crypto';
import { orderedText, type Migration } from '../../src/database/migrations/migration.ts';

/**
 * Adds a random token to the number in `access.clock`, written by every change: two timelines that reach the same
 * number have different tokens.
 */
export const revisionToken: Migration = {
  number: 3,
  name: 'revision token',
  isAdditive: true,
  statements(engine) {
    return [
      `alter table access.clock add column token ${orderedText(engine)} not null default ''`,
      `update access.clock set token = '${randomUUID()}'`,
    ];
  },
};

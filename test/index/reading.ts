import type { Partner, Scope } from '../../src/access/scope.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { type SeenEvents, readInOneState, type OneState, type Reading } from '../../src/paging/one-state.ts';

/** Reads for a scope, as a request of a partner that is not in the database. */
export function readFor<Row extends SeenEvents>(
  database: OpenDatabase,
  scope: Scope,
  reading: Reading<Row>,
): Promise<OneState<Row>> {
  const partner: Partner = {
    ...{ id: 1, revision: '', name: 'p', scopeEvent: '', isSuspended: false, requestsPerMinute: 1, kinds: null },
    scope,
  };
  const refreshPartner = (): Promise<void> => Promise.reject(new Error('the partner has not changed'));
  return readInOneState(database, { id: '1', caller: { partner, keyId: '', expiry: null }, refreshPartner }, reading);
}

import type { Partner, Scope } from '../../src/access/scope.ts';
import { selectHead, Snapshot, type Head } from '../../src/access/snapshot.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { firstRow } from '../../src/database/statement.ts';
import { Snapshots, type SnapshotRead } from '../../src/paging/snapshots.ts';

const NOTHING: Scope = { everythingSince: null, leadEntities: new Map(), coops: new Map() };

/** A partner as a request carries it. */
export const partnerOf = (id: number, scopeEvent: string, scope: Scope): Partner => ({
  ...{ id, revision: '', name: 'p', scopeEvent, isSuspended: false, requestsPerMinute: 1, kinds: null, scope },
});

/** A snapshot of a partner as of now, suspended or not; by default of one that is not in the database. */
export async function takeSnapshot(database: OpenDatabase, partnerId = 1, scope = NOTHING): Promise<Snapshot> {
  const head = await database.run('head', () => selectHead, { partner_id: partnerId });
  const { catalog, scope: event }: Head = firstRow(head);
  const parts = { catalog, partner: partnerOf(partnerId, event, scope), source: 'any', isNamed: false } as const;
  return new Snapshot(database, parts);
}

/** Hands out snapshots of a database, as a server does. */
export function snapshotsOf(database: OpenDatabase): Snapshots {
  return new Snapshots(database, { revision: '', notice: () => undefined });
}

/** Reads for a scope, as a request of a partner that is not in the database. */
export function readFor<T>(
  snapshots: Snapshots,
  scope: Scope,
  read: (snapshot: Snapshot) => T | Promise<T>,
): Promise<SnapshotRead<T>> {
  const caller = { partner: partnerOf(1, '', scope), keyId: '', expiry: null };
  return snapshots.read({ id: '1', caller, routeOptions: { url: '', config: { kind: null } } } as never, read);
}

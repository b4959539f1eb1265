import { formatTimestamp, type Clock } from '../timestamp.ts';
import type { Database } from './database.ts';

/** The person on whose behalf a command changes the database. */
export interface Operator {
  /** The operating system's user and the machine: `alice@host`. */
  readonly name: string;
  /** Audit entries older than this are deleted. */
  readonly auditRetentionDays: number;
}

/** A change to record in the audit trail. */
export interface Change {
  /** Such as `key revoke`. */
  readonly action: string;
  /** By name. */
  readonly partner?: string;
  /** The key's public id. */
  readonly keyId?: string;
  /** Further details. Never a secret. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** A recorded change, with its author and timestamp. */
export interface RecordedChange extends Required<Omit<Change, 'partner' | 'keyId'>> {
  readonly at: string;
  readonly actor: string;
  readonly partner: string | null;
  readonly keyId: string | null;
}

const UNNAMED = 'unknown';

const DAY_MS = 86_400_000;

/**
 * Records a change in the caller's transaction, so that both commit or neither, and deletes entries past their
 * retention. Call it only if something changed, and after `bumpRevision`: its lock puts the entries in commit
 * order.
 */
export async function recordChange(
  { kysely, operator }: Database,
  clock: Clock,
  { action, partner, keyId, details = {} }: Change,
): Promise<void> {
  const nowMs = clock();
  if (operator !== undefined) {
    const oldest = formatTimestamp(nowMs - operator.auditRetentionDays * DAY_MS);
    await kysely.deleteFrom('access.audit').where('at', '<', oldest).execute();
  }
  await kysely
    .insertInto('access.audit')
    .values({
      at: formatTimestamp(nowMs),
      actor: operator?.name ?? UNNAMED,
      action,
      partner: partner ?? null,
      key_id: keyId ?? null,
      details: JSON.stringify(details),
    })
    .execute();
}

/**
 * Lists the changes of the last `days` days in commit order, using the index on `at`.
 *
 * @param partner filters by partner name; null lists all changes.
 */
export async function listChanges(
  { kysely }: Database,
  clock: Clock,
  { days, partner }: { days: number; partner: string | null },
): Promise<RecordedChange[]> {
  const rows = await kysely
    .selectFrom('access.audit')
    .selectAll()
    .where('at', '>=', formatTimestamp(clock() - days * DAY_MS))
    .$if(partner !== null, (query) => query.where('partner', '=', partner))
    .orderBy('id')
    .execute();
  return rows.map(({ at, actor, action, partner: name, key_id: keyId, details }) => ({
    ...{ at, actor, action, partner: name, keyId },
    details: JSON.parse(details) as Record<string, unknown>,
  }));
}

import { formatInstant, type Clock } from '../instant.ts';
import type { Database } from './database.ts';

/** On whose behalf a program changes the database. */
export interface Operator {
  /** The operating system's user and the machine: `alice@host`. */
  readonly name: string;
  /** How long it is kept what operators did. */
  readonly auditRetentionDays: number;
}

/** What an operator did, as it is kept. */
export interface Change {
  /** Such as `key revoke`. */
  readonly action: string;
  /** By name. */
  readonly partner?: string;
  /** The key's public id. */
  readonly keyId?: string;
  /** What else there is to say. Never a secret. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** A change with who made it, and when. */
export interface RecordedChange extends Required<Omit<Change, 'partner' | 'keyId'>> {
  readonly at: string;
  readonly actor: string;
  readonly partner: string | null;
  readonly keyId: string | null;
}

const UNNAMED = 'unknown';

const DAY_MS = 86_400_000;

/**
 * Writes down a change, in its own transaction, so that neither is kept without the other; and
 * deletes what has been kept for long enough. To be called where something changed, after
 * `raiseAccessVersion`, whose lock puts the rows in the order of the commits.
 */
export async function recordChange(
  { kysely, operator }: Database,
  clock: Clock,
  { action, partner, keyId, details = {} }: Change,
): Promise<void> {
  const nowMs = clock();
  if (operator !== undefined) {
    const oldest = formatInstant(nowMs - operator.auditRetentionDays * DAY_MS);
    await kysely.deleteFrom('access.audit').where('at', '<', oldest).execute();
  }
  await kysely
    .insertInto('access.audit')
    .values({
      at: formatInstant(nowMs),
      actor: operator?.name ?? UNNAMED,
      action,
      partner: partner ?? null,
      key_id: keyId ?? null,
      details: JSON.stringify(details),
    })
    .execute();
}

/**
 * What operators did in the last days, in the order in which it was committed. By the index on `at`.
 *
 * @param partner by name; null for what was done to any, or none.
 */
export async function listChanges(
  { kysely }: Database,
  clock: Clock,
  { days, partner }: { days: number; partner: string | null },
): Promise<RecordedChange[]> {
  const rows = await kysely
    .selectFrom('access.audit')
    .selectAll()
    .where('at', '>=', formatInstant(clock() - days * DAY_MS))
    .$if(partner !== null, (query) => query.where('partner', '=', partner))
    .orderBy('id')
    .execute();
  return rows.map(({ at, actor, action, partner: name, key_id: keyId, details }) => ({
    ...{ at, actor, action, partner: name, keyId },
    details: JSON.parse(details) as Record<string, unknown>,
  }));
}

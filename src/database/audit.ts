import { sql } from 'kysely';
import { DAY_MS, formatTimestamp, type Clock } from '../timestamp.ts';
import type { Database } from './database.ts';
import type { AuditRow } from './tables.ts';

/** A change, as the audit trail has it; the partner is named. */
export interface AuditEntry {
  /** Such as `key revoke`. */
  readonly action: string;
  readonly partner?: string;
  readonly keyId?: string;
  /** Never a secret. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/**
 * Adds an entry in the caller's transaction, so that both commit or neither, and deletes entries past their retention.
 * Call it only if something changed, and after `lockLog`: its lock puts the entries in commit order.
 */
export async function writeAuditEntry(
  { kysely, operator }: Database,
  clock: Clock,
  { action, partner, keyId, details = {} }: AuditEntry,
): Promise<void> {
  const nowMs = clock();
  if (operator !== undefined) {
    const oldest = formatTimestamp(nowMs - operator.auditRetentionDays * DAY_MS);
    await sql`delete from access.audit where at < ${oldest}`.execute(kysely);
  }
  const actor = operator?.name ?? 'unknown';
  await sql`insert into access.audit (at, actor, action, partner, key_id, details)
    values (${formatTimestamp(nowMs)}, ${actor}, ${action}, ${partner ?? null}, ${keyId ?? null},
      ${JSON.stringify(details)})`.execute(kysely);
}

type AuditChange = Pick<AuditRow, 'at' | 'actor' | 'action' | 'partner' | 'details'> & {
  readonly keyId: string | null;
};

/**
 * Lists the changes of the last `days` days in commit order, by the index on `at`: of all partners, or of the one with
 * this name, also under its former names. After a restore, those made since the backup are last.
 */
export async function listAuditEntries(
  database: Database,
  clock: Clock,
  { days, partner }: { days: number; partner: string | null },
) {
  const since = formatTimestamp(clock() - days * DAY_MS);
  const names = partner === null ? [] : await findNames(database, since, partner);
  const isNamed = names.map(({ name, lastId }) => sql`(partner = ${name} and id <= ${lastId})`);
  const ofPartner = partner === null ? sql`` : sql`and (${sql.join(isNamed, sql` or `)})`;
  const { rows } = await sql<AuditChange>`
    select at, actor, action, partner, key_id as "keyId", details from access.audit
    where at >= ${since} ${ofPartner} order by id`.execute(database.kysely);
  return rows.map((row) => ({ ...row, details: JSON.parse(row.details) as Record<string, unknown> }));
}

/** A partner's name, and each former one with the ID of the entry that ended it. */
async function findNames({ kysely }: Database, since: string, partner: string) {
  const { rows: renames } = await sql<Pick<AuditRow, 'partner' | 'details'> & { id: number }>`
    select id, partner, details from access.audit
    where action = 'partner rename' and at >= ${since} order by id desc`.execute(kysely);
  const names = [{ name: partner, lastId: Number.MAX_SAFE_INTEGER }];
  for (const { id, partner: from, details } of renames) {
    const { to } = JSON.parse(details) as { to?: unknown };
    if (from !== null && to === names.at(-1)?.name) names.push({ name: from, lastId: id });
  }
  return names;
}

import { sql } from 'kysely';
import { writeAuditEntry } from '../database/audit.ts';
import { inTransaction, type Database } from '../database/database.ts';
import { isOneOf } from '../database/statement.ts';
import { appendEvent, lockLog } from '../database/event-log.ts';
import { OperatorError } from '../operator-error.ts';
import type { Clock } from '../timestamp.ts';
import { getPartnerRow } from './partner-admin.ts';
import { awaitByOwner, byOwner, listOwners, type OwnerIds } from './visibility/owners.ts';
import { OWNER_KINDS, OWNERS, type ByOwner, type Owner } from './visibility/rules.ts';

/** The grants that one command adds or removes. */
export interface Grants extends OwnerIds {
  readonly everything: boolean;
}

/** A granted lead entity or coop. */
export interface Grant {
  readonly id: string;
  /** Null if the catalog no longer contains it. */
  readonly name: string | null;
  readonly grantedAt: string;
}

/**
 * Adds grants to a partner, all or none, at one commit timestamp, so that an incremental sync finds what became visible.
 *
 * @returns what was newly granted, and what was granted before and keeps its timestamp.
 * @throws OperatorError if there is no such partner, or the catalog does not contain an ID.
 */
export function grant(database: Database, clock: Clock, partnerName: string, requested: Grants) {
  return inTransaction(database, async (transaction) => {
    // First, because on SQLite nothing may be read from `access` before the lock is held.
    const timestamp = await lockLog(transaction, clock);
    const { id: partnerId } = await getPartnerRow(transaction, partnerName);
    const missing = {
      everything: false,
      ...(await awaitByOwner((owner, grants) => missingFromCatalog(transaction, owner, requested[grants]))),
    };
    if (isSomething(missing))
      throw new OperatorError(`not in the catalog: ${named(missing)}. Nothing was granted.${findWith(missing)}`);

    const granted: Grants = {
      everything: requested.everything && (await setEverything(transaction, partnerId, timestamp)),
      ...(await awaitByOwner((owner, grants) =>
        insertGrants(transaction, partnerId, owner, requested[grants], timestamp),
      )),
    };
    if (isSomething(granted)) {
      await appendEvent(transaction, timestamp, { what: 'scope', partnerId, narrows: null });
      const details = detailsOf(granted);
      await writeAuditEntry(transaction, clock, { action: 'partner grant', partner: partnerName, details });
    }
    return { granted, unchanged: without(requested, granted) };
  });
}

/**
 * Revokes grants, all or none. Revoking `everything` leaves individual grants in place, and vice versa. To revoke
 * a missing grant is an error: its ID is usually misspelled, and the operator would believe that access has ended.
 *
 * The end of a grant that is not older than that of everything narrows nothing: departures from everything since then
 * include all that the partner loses sight of.
 *
 * @throws OperatorError if there is no such partner, or something is not granted to it.
 */
export async function revoke(database: Database, clock: Clock, partnerName: string, requested: Grants): Promise<void> {
  await inTransaction(database, async (transaction) => {
    const timestamp = await lockLog(transaction, clock);
    const { id: partnerId, everything_since } = await getPartnerRow(transaction, partnerName);
    let narrows = requested.everything;
    const everythingSince = requested.everything ? null : everything_since;
    const revoked: Grants = {
      everything: requested.everything && (await setEverything(transaction, partnerId, null)),
      ...(await awaitByOwner(async (owner, grants) => {
        const deleted = await deleteGrants(transaction, partnerId, owner, requested[grants]);
        narrows ||= deleted.some(({ granted_at }) => everythingSince === null || everythingSince > granted_at);
        return deleted.map(({ resource_id }) => resource_id);
      })),
    };
    const notGranted = without(requested, revoked);
    if (isSomething(notGranted)) {
      throw new OperatorError(
        `not granted to "${partnerName}": ${named(notGranted)}. Nothing was revoked. ` +
          `"pds partner show ${partnerName}" lists its grants.${findWith(notGranted)}`,
      );
    }
    if (!isSomething(revoked)) return;
    await appendEvent(transaction, timestamp, {
      what: 'scope',
      partnerId,
      narrows: narrows ? 'revoked grant' : null,
    });
    const details = detailsOf(revoked);
    await writeAuditEntry(transaction, clock, { action: 'partner revoke', partner: partnerName, details });
  });
}

/** A partner's individual grants, by ID. @throws OperatorError if there is no such partner. */
export async function listGrants(database: Database, partnerName: string): Promise<ByOwner<Grant[]>> {
  const { id: partnerId } = await getPartnerRow(database, partnerName);
  return awaitByOwner((owner) => grantsOf(database, partnerId, owner));
}

async function missingFromCatalog({ engine, kysely }: Database, owner: Owner, ids: readonly string[]) {
  if (ids.length === 0) return [];
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(OWNERS[owner].table)} where ${isOneOf(engine, sql.ref('id'), ids)}`.execute(kysely);
  return [...new Set(ids).difference(new Set(rows.map(({ id }) => id)))];
}

/** False if nothing changed. */
async function setEverything({ kysely }: Database, partnerId: number, since: string | null): Promise<boolean> {
  const isOther = since === null ? sql`everything_since is not null` : sql`everything_since is null`;
  const { rows } = await sql`update access.partners set everything_since = ${since}
    where id = ${partnerId} and ${isOther} returning id`.execute(kysely);
  return rows.length > 0;
}

async function insertGrants(
  { engine, kysely }: Database,
  partnerId: number,
  owner: Owner,
  ids: readonly string[],
  timestamp: string,
): Promise<string[]> {
  if (ids.length === 0) return [];
  // Selected from the catalog, since one parameter per row would limit the number of ids.
  const { rows } = await sql<{ resource_id: string }>`
    insert into access.grants (partner_id, kind, resource_id, granted_at)
    select cast(${partnerId} as bigint), ${sql.lit(owner)}, id, cast(${timestamp} as text)
    from ${sql.table(OWNERS[owner].table)} where ${isOneOf(engine, sql.ref('id'), ids)}
    on conflict do nothing returning resource_id`.execute(kysely);
  return rows.map((row) => row.resource_id);
}

async function deleteGrants({ engine, kysely }: Database, partnerId: number, owner: Owner, ids: readonly string[]) {
  const { rows } = await sql<{ resource_id: string; granted_at: string }>`delete from access.grants
    where partner_id = ${partnerId} and kind = ${owner} and ${isOneOf(engine, sql.ref('resource_id'), ids)}
    returning resource_id, granted_at`.execute(kysely);
  return rows;
}

async function grantsOf({ kysely }: Database, partnerId: number, owner: Owner): Promise<Grant[]> {
  const { rows } = await sql<Grant>`
    select granted.resource_id as id, granted.granted_at as "grantedAt", named.name
    from access.grants as granted left join ${sql.table(OWNERS[owner].table)} as named on named.id = granted.resource_id
    where granted.partner_id = ${partnerId} and granted.kind = ${owner} order by granted.resource_id`.execute(kysely);
  return rows;
}

function detailsOf(grants: Grants): Record<string, unknown> {
  const { everything } = grants;
  const owners = OWNER_KINDS.map((owner) => [OWNERS[owner].parameter, grants[OWNERS[owner].grants]] as const);
  return { ...(everything && { everything }), ...Object.fromEntries(owners.filter(([, ids]) => ids.length > 0)) };
}

function isSomething(grants: Grants): boolean {
  return grants.everything || listOwners(grants).length > 0;
}

function without(all: Grants, removed: Grants): Grants {
  const owners = byOwner((_, grants) => [...new Set(all[grants]).difference(new Set(removed[grants]))]);
  return { everything: all.everything && !removed.everything, ...owners };
}

function findWith(grants: Grants): string {
  const commands = new Set(listOwners(grants).map(({ owner }) => `"pds find ${OWNERS[owner].word} TEXT"`));
  return commands.size === 0 ? '' : ` Find ids by name with ${[...commands].join(' or ')}`;
}

function named(grants: Grants): string {
  const ids = listOwners(grants).map(({ owner, id }) => `${OWNERS[owner].label} "${id}"`);
  return [...(grants.everything ? ['everything'] : []), ...ids].join(', ');
}

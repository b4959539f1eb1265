import { recordChange } from '../database/audit.ts';
import { inTransaction, type Database } from '../database/database.ts';
import { isOneOf } from '../database/engine-sql.ts';
import { nextCommitTimestamp } from '../database/commit-timestamps.ts';
import type { Clock } from '../timestamp.ts';
import { AccessError } from './access-error.ts';
import { getPartnerReference } from './partner-admin.ts';

/** The grants that one command adds or removes. */
export interface Grants {
  readonly everything: boolean;
  /** Ids. */
  readonly leadEntities: readonly string[];
  /** Ids. */
  readonly coops: readonly string[];
}

export interface GrantOutcome {
  /** Newly granted. */
  readonly granted: Grants;
  /** Granted before; these keep their timestamps. */
  readonly unchanged: Grants;
}

/** A granted lead entity or coop. */
export interface Grant {
  readonly id: string;
  /** Null if the catalog no longer contains it. */
  readonly name: string | null;
  readonly grantedAt: string;
}

type GrantKind = 'lead_entity' | 'coop';

const CATALOG_TABLE = { lead_entity: 'catalog.lead_entities', coop: 'catalog.coops' } as const;

const SHOWN_AS = { lead_entity: 'lead entity', coop: 'coop' };

/**
 * Adds grants to a partner, all or none, at one commit timestamp. Releases draw theirs from the same sequence, so an
 * incremental sync finds the records that became visible.
 *
 * @throws AccessError if there is no such partner, or the catalog does not contain an ID.
 */
export function grant(database: Database, clock: Clock, partnerName: string, asked: Grants): Promise<GrantOutcome> {
  return inTransaction(database, async (transaction) => {
    const timestamp = await nextCommitTimestamp(transaction, clock);
    const partner = await getPartnerReference(transaction, partnerName);
    const unknown = [
      ...(await missingFromCatalog(transaction, 'lead_entity', asked.leadEntities)),
      ...(await missingFromCatalog(transaction, 'coop', asked.coops)),
    ];
    if (unknown.length > 0) throw new AccessError(`the catalog holds no ${unknown.join(', no ')}: nothing was granted`);

    const granted: Grants = {
      everything: asked.everything && (await grantEverything(transaction, partner.id, timestamp)),
      leadEntities: await insertGrants(transaction, partner.id, 'lead_entity', asked.leadEntities, timestamp),
      coops: await insertGrants(transaction, partner.id, 'coop', asked.coops, timestamp),
    };
    if (isSomething(granted)) {
      await noteChange(transaction, partner.id, timestamp);
      const details = detailsOf(granted);
      await recordChange(transaction, clock, { action: 'partner grant', partner: partnerName, details });
    }
    return { granted, unchanged: without(asked, granted) };
  });
}

/**
 * Revokes grants, all or none. Revoking `everything` leaves individual grants in place, and vice versa.
 *
 * Revoking something that was never granted is an error, not a warning: it usually means a misspelled ID or name, and
 * the operator would believe that access has ended.
 *
 * @throws AccessError if there is no such partner, or something is not granted to it.
 */
export async function revoke(database: Database, clock: Clock, partnerName: string, asked: Grants): Promise<void> {
  await inTransaction(database, async (transaction) => {
    const timestamp = await nextCommitTimestamp(transaction, clock);
    const partner = await getPartnerReference(transaction, partnerName);
    const revoked: Grants = {
      everything: asked.everything && (await revokeEverything(transaction, partner.id)),
      leadEntities: await deleteGrants(transaction, partner.id, 'lead_entity', asked.leadEntities),
      coops: await deleteGrants(transaction, partner.id, 'coop', asked.coops),
    };
    const notGranted = without(asked, revoked);
    if (isSomething(notGranted)) throw notGrantedError(partnerName, notGranted);
    if (!isSomething(revoked)) return;
    await noteChange(transaction, partner.id, timestamp);
    const details = detailsOf(revoked);
    await recordChange(transaction, clock, { action: 'partner revoke', partner: partnerName, details });
  });
}

/**
 * A partner's individual grants, by ID.
 *
 * @throws AccessError if there is no such partner.
 */
export async function listGrants(
  database: Database,
  partnerName: string,
): Promise<{ leadEntities: Grant[]; coops: Grant[] }> {
  const partner = await getPartnerReference(database, partnerName);
  return {
    leadEntities: await grantsOfKind(database, partner.id, 'lead_entity'),
    coops: await grantsOfKind(database, partner.id, 'coop'),
  };
}

/** The IDs that are not in the catalog, formatted for the operator. */
async function missingFromCatalog(transaction: Database, kind: GrantKind, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const found = await transaction.kysely
    .selectFrom(CATALOG_TABLE[kind])
    .select('id')
    .where((eb) => isOneOf(transaction.engine, eb.ref('id'), ids))
    .execute();
  const missing = new Set(ids).difference(new Set(found.map((row) => row.id)));
  return [...missing].map((id) => `${SHOWN_AS[kind]} "${id}"`);
}

async function grantEverything({ kysely }: Database, partnerId: number, timestamp: string): Promise<boolean> {
  const changed = await kysely
    .updateTable('access.partners')
    .set({ everything_since: timestamp })
    .where('id', '=', partnerId)
    .where('everything_since', 'is', null)
    .executeTakeFirst();
  return changed.numUpdatedRows > 0n;
}

async function revokeEverything({ kysely }: Database, partnerId: number): Promise<boolean> {
  const changed = await kysely
    .updateTable('access.partners')
    .set({ everything_since: null })
    .where('id', '=', partnerId)
    .where('everything_since', 'is not', null)
    .executeTakeFirst();
  return changed.numUpdatedRows > 0n;
}

async function insertGrants(
  { engine, kysely }: Database,
  partnerId: number,
  kind: GrantKind,
  ids: readonly string[],
  timestamp: string,
): Promise<string[]> {
  if (ids.length === 0) return [];
  const inserted = await kysely
    .insertInto('access.grants')
    .columns(['partner_id', 'kind', 'resource_id', 'granted_at'])
    .expression((eb) =>
      eb
        .selectFrom(CATALOG_TABLE[kind])
        .select((e) => [
          e.cast<number>(e.val(partnerId), engine === 'postgres' ? 'bigint' : 'integer').as('partner_id'),
          e.cast<GrantKind>(e.val(kind), 'text').as('kind'),
          'id',
          e.cast<string>(e.val(timestamp), 'text').as('granted_at'),
        ])
        .where((e) => isOneOf(engine, e.ref('id'), ids)),
    )
    .onConflict((conflict) => conflict.doNothing())
    .returning('resource_id')
    .execute();
  return inserted.map((row) => row.resource_id);
}

async function deleteGrants(
  { engine, kysely }: Database,
  partnerId: number,
  kind: GrantKind,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return [];
  const deleted = await kysely
    .deleteFrom('access.grants')
    .where('partner_id', '=', partnerId)
    .where('kind', '=', kind)
    .where((eb) => isOneOf(engine, eb.ref('resource_id'), ids))
    .returning('resource_id')
    .execute();
  return deleted.map((row) => row.resource_id);
}

/** Records the change, so that queries can detect a scope that was read before it. */
async function noteChange({ kysely }: Database, partnerId: number, timestamp: string): Promise<void> {
  await kysely.insertInto('access.grant_changes').values({ partner_id: partnerId, instant: timestamp }).execute();
  await kysely
    .updateTable('access.partners')
    .set({ grants_changed_at: timestamp })
    .where('id', '=', partnerId)
    .execute();
}

async function grantsOfKind({ kysely }: Database, partnerId: number, kind: GrantKind): Promise<Grant[]> {
  const rows = await kysely
    .selectFrom('access.grants as granted')
    .leftJoin(`${CATALOG_TABLE[kind]} as named`, 'named.id', 'granted.resource_id')
    .select(['granted.resource_id', 'granted.granted_at', 'named.name'])
    .where('granted.partner_id', '=', partnerId)
    .where('granted.kind', '=', kind)
    .orderBy('granted.resource_id')
    .execute();
  return rows.map((row) => ({ id: row.resource_id, name: row.name, grantedAt: row.granted_at }));
}

/** For the audit trail: the non-empty grants, by ID. */
function detailsOf({ everything, leadEntities, coops }: Grants): Record<string, unknown> {
  return {
    ...(everything && { everything }),
    ...(leadEntities.length > 0 && { lead_entities: leadEntities }),
    ...(coops.length > 0 && { coops }),
  };
}

function isSomething(grants: Grants): boolean {
  return grants.everything || grants.leadEntities.length > 0 || grants.coops.length > 0;
}

function without(all: Grants, removed: Grants): Grants {
  return {
    everything: all.everything && !removed.everything,
    leadEntities: [...new Set(all.leadEntities).difference(new Set(removed.leadEntities))],
    coops: [...new Set(all.coops).difference(new Set(removed.coops))],
  };
}

function notGrantedError(partnerName: string, { everything, leadEntities, coops }: Grants): AccessError {
  const names = [
    ...(everything ? ['everything'] : []),
    ...leadEntities.map((id) => `lead entity "${id}"`),
    ...coops.map((id) => `coop "${id}"`),
  ];
  return new AccessError(
    `not granted to "${partnerName}": ${names.join(', ')}. Nothing was revoked; "pds partner show ${partnerName}" lists its grants`,
  );
}

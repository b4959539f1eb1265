import { sql } from 'kysely';
import type { Scope } from '../access/scope.ts';
import type { Snapshot } from '../access/snapshot.ts';
import { EVERYTHING, grantedOwners, ownerKey } from '../access/visibility/owners.ts';
import type { Engine, Query } from '../database/database.ts';
import { inBatches } from '../database/rows.ts';
import { isInList, isLookedUp, limitParameter, listedRows, parameter } from '../database/statement.ts';
import { scheduler } from '../fair-scheduler.ts';
import type { ChangedSince } from '../index/conditions.ts';
import type { IndexedKind } from '../kinds.ts';
import { addMilliseconds } from '../timestamp.ts';

/** A statement examines at most this many departures: some milliseconds. */
export const MAX_DEPARTURES = 5_000;

/** Owners in a statement, so that it can examine some departures of each. */
const MAX_OWNERS = 500;

/** Departures of a kind that were read by id, of the snapshot with this digest. */
interface ReadingById {
  readonly digest: string;
  readonly kind: IndexedKind;
  /** The id after which they begin. */
  readonly after: string;
  /** The owners that have more, each with the last id that was read. */
  readonly owners: Map<string, { readonly owner: string; readonly at: string; until: string }>;
  readonly found: Set<string>;
}

/**
 * The departures of a listing since a timestamp, of records that the partner saw before: it had the owner's grant earlier.
 * Departures of other owners are not examined, so neither cursors nor the number of pages depend on them.
 *
 * If they are few, they are read once for each snapshot. Otherwise they are read by id, some at a time.
 */
export class ListedDepartures {
  readonly #kinds: readonly IndexedKind[];
  /** Whether some page found that they are many, so that later ones need not count them. */
  areMany: boolean;
  /** The number of departures that were examined so far. */
  examined = 0;
  #few: { readonly digest: string; readonly ids: ReadonlyMap<string, readonly string[]> } | null = null;
  /** How far the owners were read by id, so that the next piece of a stream reads nothing again. */
  #reading: ReadingById | null = null;

  constructor(kinds: readonly IndexedKind[], areMany: boolean) {
    this.#kinds = kinds;
    this.areMany = areMany;
  }

  /**
   * Finds the first departures of a kind after an id. They can still be visible in another way.
   *
   * @throws OtherSnapshotError if a statement saw another one.
   */
  async find(snapshot: Snapshot, kind: IndexedKind, since: ChangedSince, after: string | null, limit: number) {
    const few = this.areMany ? null : await this.#readFew(snapshot, since);
    if (few === null) return this.#findById(snapshot, kind, since, after ?? '', limit);
    const ids = (few.get(kind) ?? []).filter((id) => id > (after ?? ''));
    return firstOf(ids, limit);
  }

  /** The ids of each kind, in order; null if they are many. */
  async #readFew(snapshot: Snapshot, since: ChangedSince): Promise<ReadonlyMap<string, readonly string[]> | null> {
    const { digest, scope } = snapshot;
    if (this.#few?.digest === digest) return this.#few.ids;
    const ids = new Map<string, Set<string>>(this.#kinds.map((kind) => [kind, new Set()]));
    let left = MAX_DEPARTURES;
    for (const owners of inBatches(ownersIn(scope, since), MAX_OWNERS)) {
      await scheduler.turn(snapshot.partner.id);
      const wanted = { owners: JSON.stringify(owners), kinds: this.#kinds, rows: left + 1 };
      for (const { kind, id } of await snapshot.run(departuresByRelease(snapshot.engine, wanted))) {
        ids.get(kind)?.add(id);
        left -= 1;
      }
      if (left >= 0) continue;
      this.examined += MAX_DEPARTURES;
      this.areMany = true;
      return null;
    }
    this.examined += MAX_DEPARTURES - left;
    this.#few = { digest, ids: new Map(Array.from(ids, ([kind, kindIds]) => [kind, [...kindIds].sort()])) };
    return this.#few.ids;
  }

  /** Reads some departures of each owner, then more of the owners that are furthest behind, until there are more than `limit`. */
  async #findById(snapshot: Snapshot, kind: IndexedKind, since: ChangedSince, after: string, limit: number) {
    const { digest, scope } = snapshot;
    const reading = this.#reading;
    const isContinued = reading?.kind === kind && reading.digest === digest && reading.after <= after;
    const owners = isContinued
      ? reading.owners
      : new Map(ownersIn(scope, since).map(([owner, at]) => [owner, { owner, at, until: after }]));
    const found = new Set(isContinued ? [...reading.found].filter((id) => id > after) : []);
    for (const owner of owners.values()) if (owner.until < after) owner.until = after;
    this.#reading = { digest, kind, after, owners, found };
    for (let rows = limit + 1; ; rows *= 2) {
      // All departures up to here were examined.
      const [until = null] = Array.from(owners.values(), (owner) => owner.until).sort();
      const ids = until === null ? [...found] : [...found].filter((id) => id <= until);
      if (until === null || ids.length > limit) return firstOf(ids.sort(), limit);
      const behind = [...owners.values()].filter((owner) => owner.until === until);
      for (const batch of inBatches(behind, MAX_OWNERS)) {
        await scheduler.turn(snapshot.partner.id);
        const maxRows = Math.min(rows, Math.floor(MAX_DEPARTURES / batch.length));
        const named = JSON.stringify(batch.map((owner) => [owner.owner, owner.at, owner.until]));
        const read = await snapshot.run(departuresById(snapshot.engine, { kind, owners: named, rows: maxRows }));
        for (const { owner, first, departed } of read) {
          const departures = departed?.split(' ').map(parseDeparture) ?? [];
          this.examined += departures.length;
          for (const { id, release } of departures) if (first !== null && release >= first) found.add(id);
          const last = departures.at(-1);
          const ofOwner = owners.get(owner);
          if (ofOwner === undefined || last === undefined || departures.length < maxRows) owners.delete(owner);
          else ofOwner.until = last.id;
        }
      }
    }
  }
}

/** The first of some ids in order, and the last of these if there are more. Ids are ASCII: `<` orders them as databases do. */
function firstOf(ids: readonly string[], limit: number) {
  const firstIds = ids.slice(0, limit);
  return { ids: firstIds, until: firstIds.length < ids.length ? (firstIds.at(-1) ?? null) : null };
}

/** The owners that a partner was granted, each with the timestamp after which the feed reports what leaves them. */
function ownersIn(scope: Scope, { from }: ChangedSince): [owner: string, after: string][] {
  const { everythingSince } = scope;
  const grants = [
    ...(everythingSince === null ? [] : [[EVERYTHING, everythingSince] as const]),
    ...grantedOwners(scope).map(({ owner, id, grantedAt }) => [ownerKey(owner, id), grantedAt] as const),
  ];
  const before = addMilliseconds(from, -1);
  return grants.map(([owner, grantedAt]) => [owner, grantedAt > before ? grantedAt : before]);
}

function parseDeparture(text: string): { id: string; release: number } {
  const [release, id = ''] = text.split(':');
  return { id, release: Number(release) };
}

/** The number of the first release after the timestamp of an owner in the parameter `owners`; null if there is none yet. */
const firstRelease = sql<number | null>`(select number from catalog.releases where at > owned.after
  order by at limit 1)`;

/**
 * The first departures of the owners in the parameter `owners` since their releases. Served by the index on owner, kind
 * and release.
 */
export function departuresByRelease(
  engine: Engine,
  { owners, kinds, rows }: { owners: string; kinds: readonly IndexedKind[]; rows: number },
): Query<{ kind: string; id: string }> {
  return {
    statementKey: 'departures by release',
    columns: ['kind', 'id'],
    build: () => sql`select departure.kind, departure.id
      from ${listedRows(engine, 'owners', { owner: 'text', after: 'text' }, 'owned')}
      cross join catalog.departures as departure
      where ${isLookedUp(engine, 'departure.owner', 'owned.owner')}
        and ${isInList(engine, sql.ref('departure.kind'), 'kinds')} and departure.release >= ${firstRelease}
      limit ${limitParameter('rows')}`,
    values: { owners, kinds, rows },
  };
}

/**
 * The first departures of each owner in the parameter `owners` after an id, as `release:id`, separated by blanks, with
 * the first release that counts. Served by the primary key.
 */
export function departuresById(
  engine: Engine,
  { kind, owners, rows }: { kind: IndexedKind; owners: string; rows: number },
): Query<{ owner: string; first: number | null; departed: string | null }> {
  return {
    statementKey: 'departures by id',
    columns: ['owner', 'first', 'departed'],
    build: () => sql`select owned.owner, ${firstRelease} as first,
      (select string_agg(departure.release || ':' || departure.id, ' ' order by departure.id) from (
        select id, release from catalog.departures
        where owner = owned.owner and kind = ${parameter('kind')} and id > owned.id
        order by id limit ${limitParameter('rows')}) as departure) as departed
    from ${listedRows(engine, 'owners', { owner: 'text', after: 'text', id: 'text' }, 'owned')}`,
    values: { kind, owners, rows },
  };
}

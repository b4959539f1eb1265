import { sql, type RawBuilder } from 'kysely';
import type { Scope } from '../access/scope.ts';
import { compareBytewise } from '../bytewise.ts';
import type { OpenDatabase } from '../database/database.ts';
import { catalogState } from '../database/revision.ts';
import { firstRow, limitParameter, parameter } from '../database/statement.ts';
import type { ChangedSince } from '../index/conditions.ts';
import type { IndexedKind } from '../kinds.ts';
import { inState } from './pages.ts';

/** A statement reads at most this many departures: some milliseconds. */
const MAX_DEPARTURES = 5_000;

/** A departure, with the timestamp of its release. Nulls if there is none. */
interface StoredDeparture {
  readonly catalog: string;
  readonly kind: IndexedKind | null;
  readonly id: string | null;
  readonly owner: string | null;
  readonly instant: string | null;
}

type Departure = { readonly [Name in keyof StoredDeparture]: NonNullable<StoredDeparture[Name]> };

/** Records that left a scope. They can still be visible in another way. */
interface DepartedRecords {
  /** In order. */
  readonly ids: readonly string[];
  /** The last id that was examined; null if there are none after it. */
  readonly until: string | null;
}

/**
 * Finds the first records of a kind after an id: those that left the scope since a timestamp, and that it saw before,
 * since it had the owner's grant earlier.
 */
export type FindDeparted = (
  kind: IndexedKind,
  scope: Scope,
  after: string | null,
  limit: number,
) => Promise<DepartedRecords>;

/**
 * Opens the departures since a timestamp. Usually those since its release are few, and are read at once by the index on
 * the release. Otherwise they are read by kind and id, a bounded number at a time, whatever their releases.
 *
 * @throws OtherStateError if the catalog is in another state.
 */
export async function readDepartures(
  database: OpenDatabase,
  catalog: string,
  { from, release }: ChangedSince,
): Promise<FindDeparted> {
  const read = async (
    name: string,
    build: () => RawBuilder<StoredDeparture>,
    values: object,
    most: number,
  ): Promise<Departure[]> => {
    const rows = await database.run(name, build, { ...values, rows: most + 1 });
    inState(catalog, firstRow(rows));
    return rows.filter((row): row is Departure => row.id !== null);
  };
  const recent = await read('departures by release', () => departuresByRelease, { release }, MAX_DEPARTURES);
  if (recent.length <= MAX_DEPARTURES) {
    return async (kind, scope, after, limit) => {
      const isNext = ({ kind: of, id }: Departure): boolean => of === kind && compareBytewise(id, after ?? '') > 0;
      return firstOf(recent.filter(isNext), scope, from, limit, null);
    };
  }
  return async (kind, scope, after, limit) => {
    for (let most = MAX_DEPARTURES; ; most *= 2) {
      const rows = await read('departures by id', () => departuresById, { kind, after: after ?? '' }, most);
      if (rows.length <= most) return firstOf(rows, scope, from, limit, null);
      // The last record may have left more owners than were read, and be the only one.
      const whole = rows.filter(({ id }) => id !== rows.at(-1)?.id);
      if (whole.length > 0) return firstOf(whole, scope, from, limit, whole.at(-1)?.id ?? null);
    }
  };
}

function firstOf(
  departures: readonly Departure[],
  scope: Scope,
  from: string,
  limit: number,
  until: string | null,
): DepartedRecords {
  const isTold = ({ owner, instant }: Departure): boolean => {
    const grantedAt = grantOf(scope, owner);
    return instant >= from && grantedAt !== null && grantedAt < instant;
  };
  const ids = [...new Set(departures.filter(isTold).map(({ id }) => id))].sort(compareBytewise);
  const shown = ids.slice(0, limit);
  return { ids: shown, until: shown.length < ids.length ? (shown.at(-1) ?? null) : until };
}

/** When the partner got access to what the owner has; null if it has none. */
function grantOf({ everythingSince, leadEntities, coops }: Scope, owner: string): string | null {
  if (owner === 'everything') return everythingSince;
  const separator = owner.indexOf(':');
  const grants = owner.slice(0, separator) === 'coop' ? coops : leadEntities;
  return grants.get(owner.slice(separator + 1)) ?? null;
}

const departures = (selected: RawBuilder<unknown>): RawBuilder<StoredDeparture> => sql<StoredDeparture>`
  select state.catalog, departed.kind, departed.id, departed.owner,
    (select instant from catalog.publications where number = departed.release) as instant
  from (select ${catalogState} as catalog) as state
  left join (select kind, id, owner, release from catalog.departures where ${selected} limit ${limitParameter('rows')})
    as departed on 1 = 1
  order by departed.kind, departed.id`;

/** Served by the index on the release. */
export const departuresByRelease = departures(sql`release >= ${parameter('release')} order by release`);

/** Served by the primary key. */
export const departuresById = departures(
  sql`kind = ${parameter('kind')} and id > ${parameter('after')} order by kind, id, owner`,
);

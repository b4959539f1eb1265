import { sql, type RawBuilder } from 'kysely';
import type { OpenDatabase } from '../database/database.ts';
import { catalogStateOf, revision, type Revision } from '../database/revision.ts';
import { slot } from '../database/statement.ts';
import { EPOCH, nextMillisecond } from '../instant.ts';

/** What a statement saw of the series of publications and grants, and of the revision that files everything. */
export interface SeenEvents {
  /** The last publication in the catalog; the beginning of 1970 before the first. */
  readonly published_at: string;
  /** The last publication that `access` knows of. */
  readonly announced_at: string;
  /** The last change of the partner's grants; the beginning of 1970 before the first. */
  readonly grants_changed_at: string;
  /** Of `access.clock`: another one after every publication, and every change of partners, keys and grants. */
  readonly revision: Revision;
}

/** Four looks into an index each. Takes the slot `partner_id`. */
export const seenEvents: RawBuilder<SeenEvents> = sql<SeenEvents>`select
  coalesce((select max(instant) from catalog.publications), ${sql.lit(EPOCH)}) as published_at,
  (select last_publication from access.clock) as announced_at,
  coalesce((select grants_changed_at from access.partners where id = ${slot('partner_id')}), ${sql.lit(EPOCH)})
    as grants_changed_at,
  (select ${revision} from access.clock as clock) as revision`;

/**
 * The revision under which what the same statement read may be kept; null where a publication's
 * two commits lay around it, so that it may have seen the revision of one and the rows of the other.
 */
export function keepingRevision(seen: SeenEvents): Revision | null {
  return seen.published_at === seen.announced_at ? seen.revision : null;
}

type Events = Pick<SeenEvents, 'published_at' | 'grants_changed_at'>;

/** The instant of the later of both. */
export function lastEvent({ published_at, grants_changed_at }: Events): string {
  return published_at > grants_changed_at ? published_at : grants_changed_at;
}

/** One millisecond after the last event. */
export function watermarkOf(events: Events): string {
  const last = lastEvent(events);
  return last === EPOCH ? EPOCH : nextMillisecond(last);
}

/** Each attempt that fails had a publication within its microseconds. */
const MOST_ATTEMPTS = 10;

/** What was planned by what stood in the catalog. */
export interface Planned {
  /** See `catalogState`: a plan is good for a page that is read in the states that all of its parts were read in, so in the same. */
  readonly asOf: readonly string[];
}

/** Puts together what the parts of a plan say; a part that depends on nothing in the catalog says nothing. */
export function plannedAt(...parts: readonly ({ readonly asOf: string | null } | null | undefined)[]): string[] {
  return parts.flatMap((part) => part?.asOf ?? []);
}

/**
 * Reads what was planned in the state of the catalog that it was planned for: a plan may name the words of
 * the search index, and a publication that comes in between may bring more.
 *
 * @param read plans and reads; `isFresh` asks for a plan that depends on nothing read before.
 */
export async function readAsPlanned<Row extends SeenEvents>(
  database: OpenDatabase,
  read: (isFresh: boolean) => Promise<Planned & { row: Row }>,
): Promise<Row> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const { row, asOf } = await read(attempt > 0);
    if (asOf.every((state) => state === catalogStateOf(row))) return row;
    // A fresh plan that does not match shows that one of two replicas is ahead; a cached one is only out of date.
    if (attempt > 0) database.distrustReplicas();
  }
  throw new Error(`no page as it was planned after ${MOST_ATTEMPTS} attempts: publications follow each other too fast`);
}

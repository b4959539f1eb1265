import { sql, type RawBuilder } from 'kysely';
import { catalogState, revision, type Revision } from '../database/revision.ts';
import { parameter } from '../database/statement.ts';
import { EPOCH, nextMillisecond } from '../timestamp.ts';

/**
 * The last release and the last grant change that a statement saw, and the revision under which its results can be
 * cached.
 */
export interface SeenEvents {
  /**
   * See `catalogState`. Results of other statements on the catalog are consistent with this one if they saw the same
   * state.
   */
  readonly catalog: string;
  /** The last release in the catalog; the epoch before the first. */
  readonly published_at: string;
  /** The last release recorded in `access`. */
  readonly announced_at: string;
  /** When the partner's grants last changed; the epoch before the first change. */
  readonly grants_changed_at: string;
  /** Revision in `access.clock`, which changes with every release and every change of partners, keys and grants. */
  readonly revision: Revision;
}

/** One row of events. Uses the parameter `partner_id`. Five index lookups. */
export const seenEvents: RawBuilder<SeenEvents> = sql<SeenEvents>`select
  ${catalogState} as catalog,
  coalesce((select max(instant) from catalog.publications), ${sql.lit(EPOCH)}) as published_at,
  (select last_publication from access.clock) as announced_at,
  coalesce((select grants_changed_at from access.partners where id = ${parameter('partner_id')}), ${sql.lit(EPOCH)})
    as grants_changed_at,
  (select ${revision} from access.clock as clock) as revision`;

/**
 * The revision under which the statement's results can be cached. Null if the statement ran between the two commits of
 * a release, when it may have seen the revision of one and the rows of the other.
 */
export function keepingRevision(seen: SeenEvents): Revision | null {
  return seen.published_at === seen.announced_at ? seen.revision : null;
}

type Events = Pick<SeenEvents, 'published_at' | 'grants_changed_at'>;

/** The timestamp of the later of the two events. */
export function lastEvent({ published_at, grants_changed_at }: Events): string {
  return published_at > grants_changed_at ? published_at : grants_changed_at;
}

/** One millisecond after the last event. */
export function watermarkOf(events: Events): string {
  const last = lastEvent(events);
  return last === EPOCH ? EPOCH : nextMillisecond(last);
}

import { sql, type RawBuilder } from 'kysely';
import { catalogState, revision, type Revision } from '../database/revision.ts';
import { slot } from '../database/statement.ts';
import { EPOCH, nextMillisecond } from '../instant.ts';

/** The last publication and the last change of grants that a statement saw, and the revision to cache what it read under. */
export interface SeenEvents {
  /** See `catalogState`: what other statements read of the catalog belongs to this if they saw the same. */
  readonly catalog: string;
  /** The last publication in the catalog; the beginning of 1970 before the first. */
  readonly published_at: string;
  /** The last publication that `access` knows of. */
  readonly announced_at: string;
  /** The last change of the partner's grants; the beginning of 1970 before the first. */
  readonly grants_changed_at: string;
  /** Of `access.clock`: another one after every publication, and every change of partners, keys and grants. */
  readonly revision: Revision;
}

/** One row of the events. Takes the slot `partner_id`; five look-ups by an index. */
export const seenEvents: RawBuilder<SeenEvents> = sql<SeenEvents>`select
  ${catalogState} as catalog,
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

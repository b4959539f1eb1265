import type { FastifyRequest } from 'fastify';
import type { Partner } from '../access/scope.ts';
import type { OpenDatabase } from '../database/database.ts';
import type { Revision } from '../database/revision.ts';
import { callerOf } from '../http/request/pipeline.ts';
import { OtherStateError } from '../index/statements.ts';
import { isWhole, watermarkOf, type SeenEvents } from './watermark.ts';

/** Each failed attempt met a release, a change of the partner or a lagging replica, so ten in a row are no chance. */
const MAX_ATTEMPTS = 10;

/** How to read a response. */
export interface Reading<Row extends SeenEvents> {
  /**
   * Reads what this partner can see, and the events by the statement that read the result.
   *
   * @throws OtherStateError if two of its statements saw different states of the catalog.
   */
  readonly read: (partner: Partner) => Promise<Row>;
  /** Drops what is cached of another state of the catalog. */
  readonly forget?: () => void;
  /** The watermark in the request's cursor; null without one. */
  readonly cursorWatermark?: string | null;
}

/** A result that was read in one state of the catalog and of the partner. */
export interface OneState<Row> {
  readonly row: Row;
  /** One millisecond after the last event that the row reflects; that of the cursor, if there is one. */
  readonly watermark: string;
  /** The revision under which to cache the response; null if it must not be cached. */
  readonly revision: Revision | null;
}

/**
 * Reads a response, again and again until it is proven to be of one state: the only place that hands out a partner's
 * scope. The row's own events must show that
 *
 * - all of it was read in one state of the catalog;
 * - the partner's grants, kinds and suspension are those that it was read for. If not, the partner is read again.
 *   Continuous changes of grants do not prevent a response: if the catalog did not change while the partner was read
 *   again, the row is what the partner saw at that moment, and its watermark that of the moment.
 * - SQLite, which reads its two files one after the other, read no commit in between: `catalog` and `access` name the
 *   same last release. If they differ twice, in the same way, a process died between its two commits.
 * - nothing is missing that the watermark in the cursor claims. If the primary lacks it too, it was lost in a restore.
 *
 * @throws ApiError if the partner turns out to be suspended, deleted or limited to other kinds.
 */
export async function readInOneState<Row extends SeenEvents>(
  database: OpenDatabase,
  request: Pick<FastifyRequest, 'id' | 'caller' | 'refreshPartner'>,
  { read, forget, cursorWatermark = null }: Reading<Row>,
): Promise<OneState<Row>> {
  let before: SeenEvents | null = null;
  /** The state of the catalog before the partner was read again. */
  let refreshedIn: string | null = null;
  let isFromPrimary = false;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const { partner } = callerOf(request);
    const row: Row | null = await read(partner).catch((error: unknown) => {
      if (!(error instanceof OtherStateError)) throw error;
      forget?.();
      return null;
    });
    let isBehind = false;
    if (row !== null) {
      const { changedAt } = partner.scope;
      const isCurrent = row.partner_state === partner.state;
      const wasCurrent = row.catalog === refreshedIn && row.grants_changed_at >= changedAt;
      if (isCurrent ? isWhole(row) || isSame(row, before) : wasCurrent) {
        const watermark = watermarkOf({ published_at: row.published_at, grants_changed_at: changedAt });
        isBehind = cursorWatermark !== null && watermark < cursorWatermark;
        if (!isBehind || isFromPrimary) {
          const revision = isCurrent && isWhole(row) ? row.revision : null;
          return { row, watermark: cursorWatermark ?? watermark, revision };
        }
      } else if (!isCurrent) {
        refreshedIn = row.catalog;
        await request.refreshPartner();
      }
    }
    before = row;
    // The first failure is a change in between; a second one means that one of two servers lags behind.
    if (isBehind || attempt > 0) {
      database.bypassReplicas();
      isFromPrimary = true;
    }
  }
  throw new Error(`no response in one state after ${MAX_ATTEMPTS} attempts: changes follow each other too fast`);
}

function isSame(row: SeenEvents, before: SeenEvents | null): boolean {
  return row.published_at === before?.published_at && row.announced_at === before.announced_at;
}

import type { FastifyRequest } from 'fastify';
import type { PartnerDirectory } from '../access/partner-directory.ts';
import { parseScope } from '../access/partner-records.ts';
import { OtherSnapshotError, Snapshot, watermarkOf, type Head, type HeadWithScope } from '../access/snapshot.ts';
import type { OpenDatabase, ReadSource } from '../database/database.ts';
import { timestampOf, type CatalogName, type Revision } from '../database/revision.ts';
import { callerOf, checkPermission } from '../http/request/pipeline.ts';
import { ApiError, unauthorized } from '../http/response/errors.ts';

/** Ends a response that meets a change at each attempt. An attempt takes milliseconds, an import at least tens of them. */
const MAX_MS = 10_000;

declare module 'fastify' {
  interface FastifyInstance {
    snapshots: Snapshots;
  }
}

/** A result that was read from one snapshot. */
export interface SnapshotRead<T> {
  readonly result: T;
  readonly snapshot: Snapshot;
  /** The revision under which to cache the response; null if it must not be cached. */
  readonly revision: Revision | null;
}

/**
 * Hands out snapshots: the only way to a partner's scope and to a statement. Holds the catalog that this process read
 * last; the partner is held with its key.
 */
export class Snapshots {
  readonly #database: OpenDatabase;
  readonly #directory: Pick<PartnerDirectory, 'revision' | 'notice'>;
  #catalog: CatalogName = '';

  constructor(database: OpenDatabase, directory: Pick<PartnerDirectory, 'revision' | 'notice'>) {
    this.#database = database;
    this.#directory = directory;
  }

  /**
   * Reads a response until all of its statements saw the snapshot that it was read for. If one saw another, this reads
   * the head once more, with the scope, takes the catalog and the scope of that, and reads again:
   *
   * - An event before the one that is held or was seen, or of the same time, is taken from the primary only, and then
   *   always: a replica can lag behind, but what the primary lacks was lost.
   * - If only the scope changes again and again, the result is used, with the watermark of the scope that it was read for.
   * - If the cursor's watermark is later than the snapshot, the primary is read. If that lacks it too, it was lost.
   *
   * @param read by the statements of the snapshot, and by what is cached for its catalog and scope.
   * @throws ApiError if the partner turns out to be suspended, deleted or limited to other kinds.
   */
  async read<T>(
    request: Pick<FastifyRequest, 'id' | 'caller' | 'routeOptions' | 'decodedCursor'>,
    read: (snapshot: Snapshot) => T | Promise<T>,
    cursorWatermark = request.decodedCursor?.watermark ?? null,
  ): Promise<SnapshotRead<T>> {
    const endsAtMs = performance.now() + MAX_MS;
    let catalog = this.#catalog;
    let source: ReadSource = 'any';
    /** The source of the head that named both the catalog and the scope; null before the second attempt. */
    let namedBy: ReadSource | null = null;
    for (let attempt = 1; attempt <= 2 || performance.now() < endsAtMs; attempt += 1) {
      const { partner } = callerOf(request);
      const before = this.#directory.revision;
      const isBehind = cursorWatermark !== null && watermarkOf({ catalog, partner }) < cursorWatermark;
      if (isBehind) source = 'primary';
      const isNamed = namedBy === 'primary' || (namedBy !== null && !isBehind);
      const snapshot = new Snapshot(this.#database, { catalog, partner, source, isNamed });
      try {
        const result = await read(snapshot);
        const head = await snapshot.verify();
        const isLast = head.scope === partner.scopeEvent;
        return { result, snapshot, revision: isLast ? head.revision : null };
      } catch (error) {
        const seen = await findOtherHead(error, snapshot);
        if (seen === null) throw error;
        const isOld = isEarlier(seen, { catalog, scope: partner.scopeEvent });
        const head = isOld && source !== 'primary' ? null : await snapshot.readHead();
        if (head === null || (source !== 'primary' && isEarlier(head, seen))) {
          source = 'primary';
          this.#database.bypassReplicas();
          continue;
        }
        this.#catalog = catalog = head.catalog;
        namedBy = source;
        if (head.scope !== partner.scopeEvent) {
          this.#directory.notice(head.revision, before);
          takeScope(request, head);
        }
      }
    }
    throw new Error(`no response from one snapshot in ${MAX_MS / 1000} s: changes follow each other too fast`);
  }
}

/** The head that interrupted a read; null if the error is of this snapshot. One before the first statement can be old. */
async function findOtherHead(error: unknown, snapshot: Snapshot): Promise<Head | null> {
  if (error instanceof OtherSnapshotError) return error.head;
  if (!(error instanceof ApiError)) return null;
  try {
    await snapshot.verify();
    return null;
  } catch (other) {
    if (other instanceof OtherSnapshotError) return other.head;
    throw other;
  }
}

/** Whether a head names an event before the other's, or another of the same time. */
function isEarlier(head: Pick<Head, 'catalog' | 'scope'>, other: Pick<Head, 'catalog' | 'scope'>): boolean {
  return (['catalog', 'scope'] as const).some(
    (name) => head[name] !== other[name] && timestampOf(head[name]) <= timestampOf(other[name]),
  );
}

/** @throws ApiError if the partner was deleted, or must not request this route any more. */
function takeScope(request: Pick<FastifyRequest, 'id' | 'caller' | 'routeOptions'>, head: HeadWithScope): void {
  const caller = callerOf(request);
  if (head.scope_text === '') throw unauthorized();
  const partner = {
    ...caller.partner,
    ...parseScope(head.scope_text),
    scopeEvent: head.scope,
    revision: head.revision,
  };
  request.caller = { ...caller, partner };
  checkPermission(request);
}

import type { RawBuilder } from 'kysely';
import type { Partner, Scope } from '../access/scope.ts';
import type { OpenDatabase } from '../database/database.ts';
import type { Revision } from '../database/revision.ts';
import type { SlotValues } from '../database/statement.ts';
import type { Asking } from './asking.ts';
import { keepingRevision, lastEvent, readAsPlanned, watermarkOf, type Planned, type SeenEvents } from './events.ts';
import type { ListParts, PartPlace } from './list-parts.ts';
import { MAX_PAGE_BYTES, pageStatement, type ListedRecords, type StatedPage } from './page-statement.ts';
import type { Since } from './updated-since.ts';

/** Which records a page shows: the positions of one more than it holds, in order, and what the statement is filled with. */
export interface Walk extends Planned {
  /** All that decides the text of the statement. */
  readonly shape: string;
  /** Gives rows of one column, `position`, ordered, as many as the slot `rows` says. Must depend on `shape` alone. */
  readonly build: () => RawBuilder<{ position: unknown }>;
  readonly values: SlotValues;
  /** The last id that it looks at, as it was asked to; null where it gives all that there is. */
  readonly upto: string | null;
}

/** What a page is asked with. */
export interface PageQuestion {
  readonly partner: Partner;
  readonly records: ListedRecords;
  readonly limit: number;
  /** The moment of the request. */
  readonly now: string;
  /** The key that the page begins behind; null for the first page. */
  readonly after: string | null;
  /** How the list is cut into parts that are read one after the other; null for one that is short. */
  readonly parts: ListParts | null;
  readonly asking: Asking;
  /** `isFresh` asks for a plan that depends on nothing read before: a publication came in between. */
  readonly walkFor: (scope: Scope, place: PartPlace, isFresh: boolean) => Walk | Promise<Walk>;
}

/** Finished texts, and what was true when they were read. */
export interface Page {
  /** The texts, joined with commas. */
  readonly data: string;
  /** How many there are. */
  readonly rows: number;
  /** The key of the last record; null on an empty page. */
  readonly lastKey: string | null;
  readonly hasMore: boolean;
  readonly changesAt: string | null;
  /** The revision to keep the page under; null where it is not to be kept. */
  readonly revision: Revision | null;
}

/** A page with the watermark of the moment in which it was read. */
export interface FirstPage extends Page {
  /** One millisecond after the last event that the rows reflect. */
  readonly watermark: string;
}

/** Each attempt that fails had a publication within its microseconds, or was made at a replica that is behind. */
const MOST_ATTEMPTS = 10;

/**
 * Reads the first page of a walk together with its watermark, in one statement.
 *
 * The watermark must not pass an event that the rows do not reflect, or a sync would lose it:
 * - The scope was read before. Where the partner's grants have changed since, it is read anew, once: who grants
 *   without a pause would else let no page be read. What such a page shows is all up to the scope that it was read
 *   with, or to the publication that was seen before that, and its watermark is one millisecond after the later of these.
 *   Every change of grants that is not in it came after both, since all instants are drawn in the order of the commits.
 * - SQLite reads its two files one after the other, and a commit may come between. Where the
 *   last publication in `catalog` is not the one that `access` announces, the page is read
 *   again. If both are as they were, it is no race: the process that published died between
 *   its two commits, or the files were restored from different moments. Then what was read
 *   again is whole: a publication draws its instant under the lock that grants take, so every
 *   grant before it was in `access` by then; and `catalog` is committed first, so every
 *   publication that `access` announces was in it.
 *
 * @param since what the `updated_since` of the request means; null without one.
 * @param refreshScope gives the partner's scope as it is now, where the one that came with the request has become stale.
 */
export async function readFirstPage(
  database: OpenDatabase,
  question: PageQuestion,
  since: Since | null,
  refreshScope: () => Promise<Scope>,
): Promise<FirstPage> {
  if (since !== null && since.seen !== null) {
    const { seen, from } = since;
    // The most frequent question of a client that keeps in step is answered without looking for anything.
    if (seen.published_at === seen.announced_at && lastEvent(seen) < from) {
      const revision = keepingRevision(seen);
      return {
        data: '',
        rows: 0,
        lastKey: null,
        hasMore: false,
        changesAt: null,
        revision,
        watermark: watermarkOf(seen),
      };
    }
  }
  let { scope } = question.partner;
  let before: SeenEvents | null = null;
  /** The last publication that was seen before the scope was read anew. */
  let beforeRefresh: string | null = null;
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const row = await readPage(database, question, scope);
    const isWhole =
      row.published_at === row.announced_at ||
      (before?.published_at === row.published_at && before.announced_at === row.announced_at);
    if (row.grants_changed_at < scope.changedAt) database.distrustReplicas();
    if (row.grants_changed_at === scope.changedAt) {
      if (isWhole) return { ...toPage(row), watermark: watermarkOf(row) };
    } else if (beforeRefresh === null || row.grants_changed_at < scope.changedAt) {
      beforeRefresh = row.published_at;
      scope = await refreshScope();
    } else if (isWhole) {
      const reflected = { published_at: beforeRefresh, grants_changed_at: scope.changedAt };
      return { ...toPage(row), revision: null, watermark: watermarkOf(reflected) };
    }
    before = row;
  }
  throw new Error(`no consistent page after ${MOST_ATTEMPTS} attempts: publications follow each other too fast`);
}

/**
 * Reads a later page of a walk.
 *
 * @param watermark that of the first page: a replica that does not have what the first page saw would leave changes
 *   out that the client takes for given.
 */
export async function readNextPage(database: OpenDatabase, question: PageQuestion, watermark: string): Promise<Page> {
  const read = (): Promise<PageRow> => readPage(database, question, question.partner.scope);
  let row = await read();
  if (watermarkOf(row) < watermark) {
    database.distrustReplicas();
    row = await read();
  }
  return toPage(row);
}

/** A page, or a part of one. */
interface PageRow extends StatedPage {
  /** Of a page that was read in parts: whether a publication came in between. */
  readonly isMixed?: boolean;
}

interface PartRow extends PageRow {
  /** As that of its walk. */
  readonly upto: string | null;
}

/**
 * Reads a page, part by part where the list has parts, until it is full or the list ends. Each part
 * is to the one before what a page is to the one before: it may show more than the state whose
 * events the first saw, and never less.
 */
async function readPage(database: OpenDatabase, question: PageQuestion, scope: Scope): Promise<PageRow> {
  const { parts, after, asking, limit } = question;
  const walk = await parts?.begin(after, asking);
  const place = walk?.place ?? { after, upto: null, earlier: 0 };
  let page = await readPart(database, question, scope, place, { records: limit, bytes: MAX_PAGE_BYTES });
  parts?.notice(page.published_at);
  while (walk !== undefined && page.upto !== null && page.walked <= limit && page.shown === page.walked) {
    await walk.goOn();
    const room = { records: limit - page.walked, bytes: MAX_PAGE_BYTES - page.bytes };
    page = joinParts(page, await readPart(database, question, scope, walk.place, room));
  }
  return page;
}

/** Reads as many records of a part as there is room for, and whether there is one more. */
function readPart(
  database: OpenDatabase,
  { partner, records, now, walkFor }: PageQuestion,
  scope: Scope,
  place: PartPlace,
  { records: limit, bytes }: { records: number; bytes: number },
): Promise<PartRow> {
  return readAsPlanned(database, async (isFresh) => {
    const walk = await walkFor(scope, place, isFresh);
    const values = { ...walk.values, partner_id: partner.id, now, rows: limit + 1, limit, bytes };
    const [row] = await database.run(walk.shape, () => pageStatement(database.engine, records, walk.build()), values);
    if (row === undefined) throw new Error('a statement that always gives a row gave none');
    return { row: { ...row, upto: walk.upto }, asOf: walk.asOf };
  });
}

/** The events are those that the first part saw. */
function joinParts(page: PartRow, next: PartRow): PartRow {
  const changes = [page.changes_at, next.changes_at].filter((instant) => instant !== null).sort();
  return {
    ...page,
    walked: page.walked + next.walked,
    shown: page.shown + next.shown,
    bytes: page.bytes + next.bytes,
    // A part may hold nothing.
    data: [page.data, next.data].filter((texts) => texts !== null && texts !== '').join(','),
    last_key: next.last_key ?? page.last_key,
    changes_at: changes[0] ?? null,
    upto: next.upto,
    isMixed: page.isMixed === true || next.published_at !== page.published_at,
  };
}

function toPage(row: PageRow): Page {
  return {
    data: row.data ?? '',
    rows: row.shown,
    lastKey: row.last_key,
    hasMore: row.walked > row.shown,
    changesAt: row.changes_at,
    revision: row.isMixed === true ? null : keepingRevision(row),
  };
}

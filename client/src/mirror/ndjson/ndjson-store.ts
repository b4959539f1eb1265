import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { comparable, idOf, isOpenAt, isServedOpen, KINDS, type Kind, type ListedRecord } from '../kinds.ts';
import { CopyFiles, readJson } from './ndjson-copy-files.ts';
import { deadlineOf, DETAILS, earliest, NdjsonDetails, recordsIn } from './ndjson-details.ts';
import { appendAt, joinById, readLines, replaceFile, type Line } from './ndjson-files.ts';
import { lockDirectory } from './ndjson-lock.ts';
import { initialState, withCompletedWalk, withKind, type MirrorState, type Walk } from '../state.ts';
import {
  CopyError,
  NEVER_READ_A_RUN,
  shareOf,
  type Changes,
  type DetailOutcome,
  type DueDetail,
  type DueOptions,
  type Store,
} from '../store.ts';

/** The mirror's state plus the fields that only the NDJSON layout needs. */
interface SavedState {
  readonly layout: 1;
  readonly state: MirrorState;
  /** The intact length of each listing file in `.mirror/`, in bytes. */
  readonly walkBytes: Partial<Record<Kind, number>>;
  /** The earliest deadline at which an `is_open` in a file becomes stale, in milliseconds since 1970. */
  readonly deadlineMs: number | null;
  /** The latest time for which `is_open` was evaluated: it is also stale if the clock is set back before this. */
  readonly openAsOfMs: number;
}

/**
 * A copy in a directory: one file per kind, sorted by id and replaced as a whole. A listing is collected in `.mirror/`
 * and, once complete, merged line by line, so that no list must fit in memory.
 */
export class NdjsonStore implements Store {
  readonly #internal: string;
  readonly #files: CopyFiles;
  readonly #details: NdjsonDetails;
  readonly #unlock: () => void;
  #saved: SavedState;

  private constructor(internal: string, files: CopyFiles, saved: SavedState, unlock: () => void) {
    this.#internal = internal;
    this.#files = files;
    this.#details = new NdjsonDetails(files, internal);
    this.#saved = saved;
    this.#unlock = unlock;
  }

  /** @throws CopyError if the directory is locked, holds another program's files, or has an unreadable state. */
  static async open(directory: string, service: string): Promise<NdjsonStore> {
    const internal = join(directory, '.mirror');
    mkdirSync(internal, { recursive: true });
    const unlock = lockDirectory(join(internal, 'lock'), directory);
    try {
      const files = new CopyFiles(directory, internal);
      const saved = readState(join(internal, 'state.json'));
      if (saved === null) refuseOthers(directory, files);
      const store = new NdjsonStore(internal, files, saved ?? firstState(service), unlock);
      await store.#details.load();
      await store.#walkAgain();
      return store;
    } catch (error) {
      unlock();
      throw error;
    }
  }

  get state(): MirrorState {
    return this.#saved.state;
  }

  async saveState(state: MirrorState): Promise<void> {
    await this.#save({ state });
  }

  async savePage(kind: Kind, records: readonly ListedRecord[], walk: Walk): Promise<void> {
    const isFirst = this.state.kinds[kind].walk?.number !== walk.number;
    const size = isFirst ? 0 : (this.#saved.walkBytes[kind] ?? 0);
    const text = records.map((record) => `${JSON.stringify(record)}\n`).join('');
    const bytes = await appendAt(this.#walkPath(kind), size, text, true);
    await this.#save({
      state: withKind(this.state, kind, { walk, walks: walk.number }),
      walkBytes: { ...this.#saved.walkBytes, [kind]: bytes },
    });
  }

  async completeWalk(kind: Kind, nowMs: number): Promise<Changes> {
    const { walk, watermark } = this.state.kinds[kind];
    if (walk === null) throw new Error(`${kind}: no listing is in progress`);
    const counts = { added: 0, changed: 0, removed: 0 };
    const isSame = walk.type === 'changes' && walk.received === 0;
    const [due, present] = [new Set<string>(), new Set<string>()];
    const isSolicitations = kind === 'solicitations';
    let { deadlineMs } = this.#saved;
    const merge = async function* (
      held: AsyncIterator<Line<ListedRecord>>,
      received: AsyncIterator<Line<ListedRecord>>,
    ) {
      for await (const { id, left, right } of joinById(held, received)) {
        const record = right ?? (walk.type === 'full' ? undefined : left);
        if (record === undefined) {
          counts.removed += 1;
          continue;
        }
        const isChanged = left !== undefined && comparable(kind, left) !== comparable(kind, record);
        if (left === undefined) counts.added += 1;
        else if (isChanged) counts.changed += 1;
        if (isSolicitations) {
          present.add(id);
          // An incremental listing returns only changed records, but the change may be visible only in the detail.
          const isNew = left === undefined && watermark !== null;
          if (right !== undefined && (walk.type === 'changes' || isChanged || isNew || isServedOpen(right)))
            due.add(id);
          deadlineMs = earliest(deadlineMs, deadlineOf(record, nowMs));
        }
        yield lineOf(kind, record, nowMs);
      }
    };
    if (!isSame || !this.#files.exists(nameOf(kind))) {
      if (isSolicitations) await this.#mergeDetails(nowMs);
      await this.#files.replace(nameOf(kind), merge(this.#held(kind), this.#received(kind, walk)), async () => {
        // Before the list is replaced: after a kill in between, the next run finds the same differences again.
        if (isSolicitations) await this.#details.markDue(due, present, nowMs);
      });
    }
    const openAsOfMs = Math.max(this.#saved.openAsOfMs, nowMs);
    await this.#save({ state: withCompletedWalk(this.state, kind, walk), deadlineMs, openAsOfMs });
    await rm(this.#walkPath(kind), { force: true });
    return counts;
  }

  async dropKind(kind: Kind): Promise<number> {
    const held = await this.countHeld(kind);
    await this.#save({ state: withKind(this.state, kind, { watermark: null, walk: null }) });
    await rm(this.#walkPath(kind), { force: true });
    if (kind === 'solicitations') await this.#details.drop();
    await this.#files.replace(nameOf(kind), []);
    return held;
  }

  async countHeld(kind: Kind): Promise<number> {
    let held = 0;
    for await (const line of readLines(this.#files.path(nameOf(kind)))) held += line === '' ? 0 : 1;
    return held;
  }

  async listDueDetails(options: DueOptions): Promise<DueDetail[]> {
    const due: { id: string; readAt: string }[] = [];
    const others: typeof due = [];
    const unread: typeof due = [];
    for await (const { id, value } of this.#held('solicitations')) {
      const { readAt, wasOpen, isDue } = this.#details.entryOf(id);
      if (isDue || wasOpen || isOpenAt(value, options.nowMs)) due.push({ id, readAt: readAt ?? '' });
      else if (readAt === null) unread.push({ id, readAt: '' });
      else others.push({ id, readAt });
    }
    const byAge = (list: typeof due): typeof due => list.sort((a, b) => (a.readAt < b.readAt ? -1 : 1));
    const share = shareOf(due.length + unread.length + others.length, options, this.state.detailsAt);
    const first = unread.slice(0, Math.max(NEVER_READ_A_RUN, share));
    return [...byAge(due), ...first, ...byAge(others).slice(0, Math.max(0, share - first.length))].map(({ id }) => ({
      id,
      etag: this.#details.entryOf(id).etag,
    }));
  }

  async saveDetail(id: string, outcome: DetailOutcome, nowMs: number): Promise<boolean> {
    const isChanged = await this.#details.save(id, outcome, nowMs);
    if (this.#details.isJournalLong) await this.#mergeDetails(nowMs);
    return isChanged;
  }

  async completeDetails(nowMs: number): Promise<void> {
    await this.#mergeDetails(nowMs);
    await this.saveState({ ...this.state, detailsAt: new Date(nowMs).toISOString() });
  }

  async refreshOpen(nowMs: number): Promise<number | null> {
    const { deadlineMs, openAsOfMs } = this.#saved;
    if ((deadlineMs === null || deadlineMs > nowMs) && nowMs >= openAsOfMs) return deadlineMs;
    const list = await this.#rewriteSolicitations(nowMs, new Set());
    const details = await this.#details.merge(nowMs);
    await this.#save({ deadlineMs: earliest(list, details), openAsOfMs: nowMs });
    return this.#saved.deadlineMs;
  }

  async close(): Promise<void> {
    this.#unlock();
  }

  async #mergeDetails(nowMs: number): Promise<void> {
    if (this.#details.isJournalEmpty) return;
    const { gone } = this.#details;
    if (gone.size > 0) await this.#rewriteSolicitations(nowMs, gone);
    const deadlineMs = await this.#details.merge(nowMs);
    await this.#save({
      deadlineMs: earliest(this.#saved.deadlineMs, deadlineMs),
      openAsOfMs: Math.max(this.#saved.openAsOfMs, nowMs),
    });
  }

  /** Schedules a full listing for each file that others changed: an incremental one would build on lost records. */
  async #walkAgain(): Promise<void> {
    for (const kind of KINDS) {
      if (this.#files.isAsLeft(nameOf(kind))) continue;
      await this.#save({ state: withKind(this.state, kind, { watermark: null, walk: null }) });
      await this.#files.accept(nameOf(kind));
    }
  }

  /** Drops the solicitations in `gone` and re-evaluates `is_open`. Returns the next deadline in milliseconds. */
  async #rewriteSolicitations(nowMs: number, gone: ReadonlySet<string>): Promise<number | null> {
    let deadlineMs: number | null = null;
    const lines = async function* (held: AsyncIterable<Line<ListedRecord>>) {
      for await (const { id, value } of held) {
        if (gone.has(id)) continue;
        deadlineMs = earliest(deadlineMs, deadlineOf(value, nowMs));
        yield lineOf('solicitations', value, nowMs);
      }
    };
    await this.#files.replace(nameOf('solicitations'), lines(this.#held('solicitations')));
    return deadlineMs;
  }

  async *#held(kind: Kind): AsyncGenerator<Line<ListedRecord>, void, undefined> {
    for await (const { value } of recordsIn(this.#files.path(nameOf(kind)))) yield { id: idOf(kind, value), value };
  }

  async *#received(kind: Kind, { received }: Walk): AsyncGenerator<Line<ListedRecord>, void, undefined> {
    if (received === 0) return;
    for await (const { value } of recordsIn(this.#walkPath(kind))) yield { id: idOf(kind, value), value };
  }

  async #save(changes: Partial<SavedState>): Promise<void> {
    const saved = { ...this.#saved, ...changes };
    await replaceFile(join(this.#internal, 'state.json'), [JSON.stringify(saved)]);
    this.#saved = saved;
  }

  #walkPath(kind: Kind): string {
    return join(this.#internal, `${kind}-walk.ndjson`);
  }
}

function lineOf(kind: Kind, record: ListedRecord, nowMs: number): string {
  return JSON.stringify(kind === 'solicitations' ? { ...record, is_open: isOpenAt(record, nowMs) } : record);
}

/** The file name of a kind. */
function nameOf(kind: Kind): string {
  return `${kind}.ndjson`;
}

function firstState(service: string): SavedState {
  return { layout: 1, state: initialState(service), walkBytes: {}, deadlineMs: null, openAsOfMs: 0 };
}

/** Null if the file does not exist. */
function readState(path: string): SavedState | null {
  const saved = readJson(path) as (Omit<SavedState, 'layout'> & { layout: number }) | null;
  if (saved === null) return null;
  if (saved.layout !== 1)
    throw new CopyError(
      `${path} has layout ${saved.layout}; this version supports 1. Start a new copy in another directory`,
    );
  return { ...saved, layout: 1 };
}

/** Refuses to overwrite files with these names that no mirror wrote, such as import files. */
function refuseOthers(directory: string, files: CopyFiles): void {
  const found = [...KINDS.map(nameOf), DETAILS].find((name) => files.exists(name));
  if (found !== undefined)
    throw new CopyError(
      `${directory} contains ${found}, but no state of a mirror. Choose another directory, or move it away`,
    );
}

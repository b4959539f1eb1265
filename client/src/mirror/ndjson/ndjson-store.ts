import { existsSync, linkSync, lstatSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { FEED_KINDS, idOf, KINDS, readFeedLine, type FeedKind, type Kind, type ReferenceKind } from '../kinds.ts';
import {
  CopyError,
  initialState,
  readingAgain,
  type ChangeCount,
  type CopyChange,
  type Listing,
  type MirrorState,
  type Store,
} from '../store.ts';
import { merge, type Entry, type Merged } from './merge.ts';
import { appendAt, newOf, readLines, takeNew, writeNew } from './ndjson-files.ts';
import { lockDirectory } from './ndjson-lock.ts';

const LAYOUT = 2;

/** The beginning of a line that notes a change. */
const NOTED = /^\{"kind":"([a-z-]+)","id":"(?:[^"\\]|\\.)*","change":"([a-z]+)"/;

/** The folder of what is the mirror's own. */
const INTERNAL = '.mirror';
const STATE = 'state.json';

/** The mirror's state plus the fields that only the NDJSON layout needs. */
interface SavedState {
  readonly layout: typeof LAYOUT;
  readonly state: MirrorState;
  /** The intact lengths of the internal files, in bytes. */
  readonly receivedBytes: Partial<Readonly<Record<FeedKind, number>>>;
  readonly unreportedBytes: number;
  /** Files whose new versions are complete, and which the next run replaces if this one cannot. */
  readonly replaced: readonly Kind[];
  /** The sizes of the public files in bytes; null for one that does not exist. */
  readonly sizes: Partial<Readonly<Record<Kind, number | null>>>;
  /** The earliest deadline at which an `is_open` in a file becomes stale, in milliseconds since 1970; null for none. */
  readonly deadlineMs: number | null;
  /** The latest time for which `is_open` was evaluated: it is also stale if the clock is set back before this. */
  readonly openAsOfMs: number;
}

/** A second name of the file of solicitations, which has their details. */
const DETAILS = 'solicitation-details.ndjson';

/**
 * A copy in a directory: one file per kind, sorted by id and replaced as a whole. A listing is collected in `.mirror/`
 * and, once complete, merged line by line, so that no list must fit in memory.
 */
export class NdjsonStore implements Store {
  readonly #directory: string;
  readonly close: () => void;
  #saved: SavedState;

  private constructor(directory: string, saved: SavedState, unlock: () => void) {
    this.#directory = directory;
    this.#saved = saved;
    this.close = unlock;
  }

  /** @throws CopyError if the directory is locked, holds another program's files, or has an unreadable state. */
  static async open(directory: string, service: string): Promise<NdjsonStore> {
    const internal = join(directory, INTERNAL);
    mkdirSync(internal, { recursive: true });
    // It could lead to any folder of the user.
    if (lstatSync(internal).isSymbolicLink())
      throw new CopyError(`${internal} is a symbolic link. Remove it, or choose another directory`);
    const unlock = lockDirectory(directory, internal);
    try {
      const store = new NdjsonStore(directory, readState(directory, internal) ?? firstState(service), unlock);
      store.#replace();
      store.#readDamagedAgain();
      return store;
    } catch (error) {
      unlock();
      throw error;
    }
  }

  get state(): MirrorState {
    return this.#saved.state;
  }

  saveState(state: MirrorState): void {
    this.#save({ state });
  }

  savePiece(lines: readonly string[], listing: Listing): void {
    const receivedBytes = this.state.listing === null ? {} : { ...this.#saved.receivedBytes };
    const kinds = lines.map((line) => readFeedLine(line).kind);
    for (const kind of FEED_KINDS.filter((name) => kinds.includes(name))) {
      const ofKind = lines.filter((_, index) => kinds[index] === kind);
      receivedBytes[kind] = appendAt(this.#receivedPath(kind), receivedBytes[kind] ?? 0, ofKind);
    }
    this.#save({ state: { ...this.state, listing }, receivedBytes });
  }

  endListing(state: MirrorState, nowMs: number): void {
    const { receivedBytes } = this.#saved;
    const isComplete = this.state.listing?.isComplete === true;
    const merges = FEED_KINDS.filter((kind) => isComplete || receivedBytes[kind] !== undefined).map((kind) =>
      this.#merge(kind, receivedIn(this.#receivedPath(kind), receivedBytes[kind]), isComplete, nowMs),
    );
    this.#saveMerged(merges, state, nowMs);
    for (const kind of FEED_KINDS) rmSync(this.#receivedPath(kind), { force: true });
  }

  saveReferences(kind: ReferenceKind, records: readonly string[], state: MirrorState): void {
    const received = records.map((record) => ({ id: idOf(record), record }));
    this.#saveMerged([this.#merge(kind, received, true, 0)], state, 0);
  }

  *listUnreported(): Generator<CopyChange, void, undefined> {
    // Versions before 2.1 did not note the records.
    for (const line of this.#unreportedLines())
      yield { before: null, record: null, ...(JSON.parse(line) as Omit<CopyChange, 'before' | 'record'>) };
  }

  *countUnreported(): Generator<ChangeCount, void, undefined> {
    for (const line of this.#unreportedLines()) {
      const [, kind, change] = NOTED.exec(line) ?? [];
      yield { kind, change, count: 1 } as ChangeCount;
    }
  }

  #unreportedLines(): Iterable<string> {
    return readLines(this.#internalPath('unreported.ndjson'), this.#saved.unreportedBytes);
  }

  forgetUnreported(): void {
    this.#save({ state: { ...this.state, isFirstCopy: false }, unreportedBytes: 0 });
  }

  refreshOpen(nowMs: number): number {
    const { deadlineMs, openAsOfMs } = this.#saved;
    if ((deadlineMs ?? Infinity) <= nowMs || nowMs < openAsOfMs)
      this.#saveMerged([this.#merge('solicitations', [], false, nowMs)], this.state, nowMs);
    return this.#saved.deadlineMs ?? Infinity;
  }

  #merge(kind: Kind, received: Iterable<Entry>, isComplete: boolean, nowMs: number) {
    const { isFirstCopy } = this.state;
    return merge(this.#pathOf(kind), kind, received, { isComplete, isFirstCopy, nowMs });
  }

  /** Writes new versions of files, saves the state that belongs to them, then puts them in their places. */
  #saveMerged(merges: readonly ReturnType<typeof merge>[], state: MirrorState, nowMs: number): void {
    let { deadlineMs, openAsOfMs } = this.#saved;
    const [sizes, held] = [{ ...this.#saved.sizes }, { ...state.held }];
    const merged: Merged[] = [];
    const path = this.#internalPath('unreported.ndjson');
    // Changes are noted while files are written, so that they need not fit in memory.
    const unreportedBytes = appendAt(path, this.#saved.unreportedBytes, notesOf(merges, merged));
    for (const { kind, ...found } of merged) {
      [sizes[kind], held[kind]] = [found.size, found.held];
      if (kind === 'solicitations') [deadlineMs, openAsOfMs] = [found.deadlineMs, nowMs];
    }
    const replaced = merged.map(({ kind }) => kind);
    this.#save({ state: { ...state, held }, unreportedBytes, replaced, sizes, deadlineMs, openAsOfMs });
    this.#replace();
  }

  /** Puts new versions of files in their places, as far as a run that was killed has not done it. */
  #replace(): void {
    for (const kind of this.#saved.replaced) takeNew(this.#pathOf(kind));
    const [path, details] = [this.#pathOf('solicitations'), join(this.#directory, DETAILS)];
    if (inodeOf(path) !== null && inodeOf(path) !== inodeOf(details)) {
      rmSync(newOf(details), { force: true });
      linkSync(path, newOf(details));
      takeNew(details);
    }
    if (this.#saved.replaced.length > 0) this.#save({ replaced: [] });
  }

  /** Begins with a complete listing if others changed a file: changes alone would build on lost records. */
  #readDamagedAgain(): void {
    for (const kind of KINDS) {
      const size = statSync(this.#pathOf(kind), { throwIfNoEntry: false })?.size ?? null;
      const { sizes, state } = this.#saved;
      if (size !== (sizes[kind] ?? null)) this.#save({ state: readingAgain(state), sizes: { ...sizes, [kind]: size } });
    }
  }

  #save(changes: Partial<SavedState>): void {
    const saved = { ...this.#saved, ...changes };
    const path = this.#internalPath(STATE);
    writeNew(path, [JSON.stringify(saved)]);
    takeNew(path);
    this.#saved = saved;
  }

  #pathOf(kind: Kind): string {
    return join(this.#directory, `${kind}.ndjson`);
  }

  #receivedPath(kind: FeedKind): string {
    return this.#internalPath(`received-${kind}.ndjson`);
  }

  #internalPath(name: string): string {
    return join(this.#directory, INTERNAL, name);
  }
}

/** Runs merges, yields their changes as lines, and adds their results to `merged`. */
function* notesOf(merges: readonly ReturnType<typeof merge>[], merged: Merged[]): Generator<string> {
  for (const merging of merges) {
    let next = merging.next();
    for (; next.done !== true; next = merging.next()) yield JSON.stringify(next.value);
    merged.push(next.value);
  }
}

function* receivedIn(path: string, bytes = 0): Generator<Entry, void, undefined> {
  for (const line of readLines(path, bytes)) yield readFeedLine(line);
}

function inodeOf(path: string): bigint | null {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino ?? null;
}

function firstState(service: string): SavedState {
  return {
    ...{ layout: LAYOUT, state: initialState(service), receivedBytes: {}, unreportedBytes: 0 },
    ...{ replaced: [], sizes: {}, deadlineMs: null, openAsOfMs: 0 },
  };
}

/**
 * Null if there is no copy yet.
 *
 * @throws CopyError if the state is none, or if no mirror wrote files with these names, such as import files.
 */
function readState(directory: string, internal: string): SavedState | null {
  const path = join(internal, STATE);
  const advice = 'Start a new copy in another directory';
  if (!existsSync(path)) {
    const found = [...KINDS.map((kind) => `${kind}.ndjson`), DETAILS].find((name) => existsSync(join(directory, name)));
    if (found === undefined) return null;
    throw new CopyError(
      `${directory} contains ${found}, but no state of a mirror. Choose another directory, or move it away`,
    );
  }
  let saved: Omit<SavedState, 'layout'> & { layout: number };
  try {
    saved = JSON.parse(readFileSync(path, 'utf8')) as typeof saved;
    if (saved.layout === LAYOUT) return saved as SavedState;
  } catch (cause) {
    throw new CopyError(`${path} was not written by a mirror. ${advice}`, { cause });
  }
  throw new CopyError(`${path} has layout ${saved.layout}; this version supports ${LAYOUT}. ${advice}`);
}

import { existsSync, linkSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { FEED_KINDS, idOf, KINDS, REFERENCE_KINDS, type Kind, type ReferenceKind } from '../kinds.ts';
import {
  initialState,
  NO_CHANGES,
  withChanges,
  withEndedListing,
  withReferences,
  type CopyChange,
  type Listing,
  type MirrorState,
} from '../state.ts';
import { CopyError, type ReferenceList, type Store } from '../store.ts';
import { merge, receivedOf, type Entry, type Merged } from './merge.ts';
import { appendAt, readJson, readLines, Replacement } from './ndjson-files.ts';
import { lockDirectory } from './ndjson-lock.ts';

const LAYOUT = 2;

/** The mirror's state plus the fields that only the NDJSON layout needs. */
interface SavedState {
  readonly layout: typeof LAYOUT;
  readonly state: MirrorState;
  /** The intact lengths of the internal files, in bytes. */
  readonly receivedBytes: number;
  readonly unreportedBytes: number;
  /** Whether the changes of the listing that ends are among the unreported ones, and its files are being replaced. */
  readonly isReplacing: boolean;
  /** Expected sizes of the public files in bytes: old and new during a replacement. Null: the file does not exist. */
  readonly sizes: Partial<Readonly<Record<Kind, readonly (number | null)[]>>>;
  /** The earliest deadline at which an `is_open` in a file becomes stale, in milliseconds since 1970. */
  readonly deadlineMs: number | null;
  /** The latest time for which `is_open` was evaluated: it is also stale if the clock is set back before this. */
  readonly openAsOfMs: number;
}

/** The file of details of version 1, a second name of the file of solicitations, which has everything. */
const DETAILS = 'solicitation-details.ndjson';

/**
 * A copy in a directory: one file per kind, sorted by id and replaced as a whole. A listing is collected in `.mirror/`
 * and, once complete, merged line by line, so that no list must fit in memory.
 */
export class NdjsonStore implements Store {
  readonly #directory: string;
  readonly #internal: string;
  readonly #unlock: () => void;
  #saved: SavedState;

  private constructor(directory: string, saved: SavedState, unlock: () => void) {
    this.#directory = directory;
    this.#internal = join(directory, '.mirror');
    this.#saved = saved;
    this.#unlock = unlock;
  }

  /** @throws CopyError if the directory is locked, holds another program's files, or has an unreadable state. */
  static async open(directory: string, service: string): Promise<NdjsonStore> {
    const internal = join(directory, '.mirror');
    mkdirSync(internal, { recursive: true });
    const unlock = lockDirectory(join(internal, 'lock'), directory);
    try {
      const saved = readState(internal);
      if (saved === null) refuseOthers(directory);
      const store = new NdjsonStore(directory, saved ?? firstState(service), unlock);
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
    const size = this.state.listing === null ? 0 : this.#saved.receivedBytes;
    const receivedBytes = appendAt(this.#receivedPath, size, lines.map((line) => `${line}\n`).join(''));
    this.#save({ state: { ...this.state, listing }, receivedBytes, isReplacing: false });
  }

  endListing(nowMs: number): void {
    const { listing } = this.state;
    if (listing === null) throw new Error('no listing is in progress');
    const received = receivedOf(readLines(this.#receivedPath, this.#saved.receivedBytes));
    const merged: Merged[] = [];
    for (const kind of FEED_KINDS) {
      if (listing.isComplete || received.kind() === kind)
        merged.push(this.#merge(kind, received.take(kind), listing.isComplete, nowMs));
    }
    const unseen = this.#saved.isReplacing ? [] : merged.flatMap(({ changes }) => changes);
    this.#replace(merged, unseen, withEndedListing(this.state), nowMs);
    rmSync(this.#receivedPath, { force: true });
  }

  saveReferences(kind: ReferenceKind, { records, etag }: ReferenceList): void {
    const received = records.map((record) => ({ id: idOf(kind, record), value: record }));
    const merged = this.#merge(kind, received, true, 0);
    this.#replace([merged], merged.changes, withReferences(this.state, kind, etag), 0);
  }

  countHeld(): MirrorState['held'] {
    return this.state.held;
  }

  *listUnreported(): Generator<CopyChange, void, undefined> {
    for (const line of readLines(this.#unreportedPath, this.#saved.unreportedBytes))
      yield JSON.parse(line) as CopyChange;
  }

  forgetUnreported(): void {
    this.#save({ state: { ...this.state, unreported: NO_CHANGES }, unreportedBytes: 0 });
  }

  refreshOpen(nowMs: number): number | null {
    const { deadlineMs, openAsOfMs } = this.#saved;
    if ((deadlineMs === null || deadlineMs > nowMs) && nowMs >= openAsOfMs) return deadlineMs;
    this.#replace([this.#merge('solicitations', [], false, nowMs)], [], this.state, nowMs);
    return this.#saved.deadlineMs;
  }

  close(): void {
    this.#unlock();
  }

  #merge(kind: Kind, received: Iterable<Entry<string | null>>, isComplete: boolean, nowMs: number): Merged {
    const { isFirstCopy } = this.state;
    return merge(this.#pathOf(kind), received, { kind, isComplete, isFirstCopy, nowMs });
  }

  /**
   * Replaces files, and saves the state that belongs to them. The changes are saved before the first file is replaced:
   * after a kill, the next run would no longer find them.
   */
  #replace(merged: readonly Merged[], changes: readonly CopyChange[], state: MirrorState, nowMs: number): void {
    const unreportedBytes = appendAt(
      this.#unreportedPath,
      this.#saved.unreportedBytes,
      changes.map((change) => `${JSON.stringify(change)}\n`).join(''),
    );
    let { sizes, deadlineMs, openAsOfMs } = this.#saved;
    for (const { kind, replacement } of merged) sizes = { ...sizes, [kind]: [this.#sizeOf(kind), replacement.size] };
    const isEnding = this.state.listing !== null && state.listing === null;
    const isReplacing = isEnding || this.#saved.isReplacing;
    this.#save({ state: withChanges(this.state, changes), unreportedBytes, sizes, isReplacing });
    const held = { ...this.state.held };
    for (const { kind, replacement, ...found } of merged) {
      replacement.take();
      sizes = { ...sizes, [kind]: [replacement.size] };
      held[kind] = found.held;
      if (kind !== 'solicitations') continue;
      this.#linkDetails();
      [deadlineMs, openAsOfMs] = [found.deadlineMs, nowMs];
    }
    this.#save({
      ...{ state: { ...state, held, unreported: this.state.unreported }, isReplacing: isReplacing && !isEnding },
      ...{ sizes, deadlineMs, openAsOfMs },
    });
  }

  /** Begins with a complete listing if others changed a file: changes alone would build on lost records. */
  #readDamagedAgain(): void {
    for (const kind of KINDS) {
      const { sizes, state } = this.#saved;
      if ((sizes[kind] ?? [null]).includes(this.#sizeOf(kind))) continue;
      const etags = { ...state.references.etags, [kind]: null };
      const again = REFERENCE_KINDS.some((name) => name === kind)
        ? { ...state, references: { watermark: null, etags } }
        : { ...state, watermark: null, listing: null };
      this.#save({ state: again, sizes: { ...sizes, [kind]: [this.#sizeOf(kind)] } });
    }
    if (existsSync(this.#pathOf('solicitations')) && !existsSync(join(this.#directory, DETAILS))) this.#linkDetails();
  }

  #linkDetails(): void {
    const link = join(this.#directory, `${DETAILS}.new`);
    rmSync(link, { force: true });
    linkSync(this.#pathOf('solicitations'), link);
    renameSync(link, join(this.#directory, DETAILS));
  }

  #save(changes: Partial<SavedState>): void {
    const saved = { ...this.#saved, ...changes };
    new Replacement(join(this.#internal, 'state.json'), [JSON.stringify(saved)]).take();
    this.#saved = saved;
  }

  #sizeOf(kind: Kind): number | null {
    return statSync(this.#pathOf(kind), { throwIfNoEntry: false })?.size ?? null;
  }

  #pathOf(kind: Kind): string {
    return join(this.#directory, nameOf(kind));
  }

  get #receivedPath(): string {
    return join(this.#internal, 'received.ndjson');
  }

  get #unreportedPath(): string {
    return join(this.#internal, 'unreported.ndjson');
  }
}

/** The file name of a kind. */
function nameOf(kind: Kind): string {
  return `${kind}.ndjson`;
}

function firstState(service: string): SavedState {
  return {
    ...{ layout: LAYOUT, state: initialState(service), receivedBytes: 0, unreportedBytes: 0, isReplacing: false },
    ...{ sizes: {}, deadlineMs: null, openAsOfMs: 0 },
  };
}

/** Null if the file does not exist. A copy of version 1.0 is taken over: its files stay until the first listing ends. */
function readState(internal: string): SavedState | null {
  const path = join(internal, 'state.json');
  const saved = readJson(path) as { layout: number; state: { service: string } } | null;
  if (saved === null) return null;
  if (saved.layout === LAYOUT) return saved as SavedState;
  if (saved.layout !== 1)
    throw new CopyError(
      `${path} has layout ${saved.layout}; this version supports ${LAYOUT}. Start a new copy in another directory`,
    );
  const former = [
    'files.json',
    'details-index.ndjson',
    'details-journal.ndjson',
    ...KINDS.map((kind) => `${kind}-walk.ndjson`),
  ];
  for (const name of former) rmSync(join(internal, name), { force: true });
  return firstState(saved.state.service);
}

/** Refuses to overwrite files with these names that no mirror wrote, such as import files. */
function refuseOthers(directory: string): void {
  const found = [...KINDS.map(nameOf), DETAILS].find((name) => existsSync(join(directory, name)));
  if (found !== undefined)
    throw new CopyError(
      `${directory} contains ${found}, but no state of a mirror. Choose another directory, or move it away`,
    );
}

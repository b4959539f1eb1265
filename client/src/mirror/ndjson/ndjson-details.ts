import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { comparable, isOpenAt, isServedOpen, type ListedRecord } from '../kinds.ts';
import type { CopyFiles } from './ndjson-copy-files.ts';
import { appendAt, compareIds, joinById, readLines, replaceFile, type Line } from './ndjson-files.ts';
import { CopyError, type DetailOutcome } from '../store.ts';

/** The mirror's metadata for one detail. */
export interface DetailEntry {
  readonly etag: string | null;
  /** Null if it was never read. */
  readonly readAt: string | null;
  readonly wasOpen: boolean;
  /** SHA-256 of the detail without `is_open`, for change detection; null if none is stored. */
  readonly digest: string | null;
  /** Whether the solicitation changed since the detail was read. */
  readonly isDue: boolean;
}

interface JournalLine {
  readonly id: string;
  readonly entry: DetailEntry | null;
  readonly detail?: ListedRecord;
}

const UNREAD: DetailEntry = { etag: null, readAt: null, wasOpen: false, digest: null, isDue: false };

/** The journal is merged when it reaches this many entries. */
const JOURNALLED = 5_000;

/** The public file of details. */
export const DETAILS = 'solicitation-details.ndjson';

/**
 * The details in an NDJSON copy: a public file sorted by id, an index with the ETags, and a journal of details read
 * since the last merge. If the process is killed, the next run resumes from the journal.
 */
export class NdjsonDetails {
  readonly #files: CopyFiles;
  readonly #indexPath: string;
  readonly #journalPath: string;
  readonly #entries = new Map<string, DetailEntry>();
  #journal = new Map<string, JournalLine>();
  /** The length of the journal's intact lines, in bytes. */
  #journalBytes = 0;

  constructor(files: CopyFiles, internal: string) {
    this.#files = files;
    this.#indexPath = join(internal, 'details-index.ndjson');
    this.#journalPath = join(internal, 'details-journal.ndjson');
  }

  /** @throws CopyError if the index is malformed. */
  async load(): Promise<void> {
    for await (const { id, value } of recordsIn(this.#indexPath)) {
      const { id: _id, ...entry } = value as unknown as DetailEntry & { id: string };
      this.#entries.set(id, entry);
    }
    for await (const line of readLines(this.#journalPath)) {
      const read = parseLine(line);
      // A full disk or a power cut left a partial line. Details lost this way are read again.
      if (read === null) break;
      this.#apply(read as unknown as JournalLine);
      this.#journalBytes += Buffer.byteLength(line) + 1;
    }
    if (!this.#files.isAsLeft(DETAILS)) await this.#readAllAgain();
  }

  /** The file of details was truncated or deleted, so its ETags are void. Marks all details as due. */
  async #readAllAgain(): Promise<void> {
    for (const [id, entry] of this.#entries)
      this.#entries.set(id, { ...entry, etag: null, digest: null, isDue: entry.readAt !== null || entry.isDue });
    this.#journal.clear();
    this.#journalBytes = 0;
    await rm(this.#journalPath, { force: true });
    await this.#saveIndex();
    await this.#files.remove(DETAILS);
  }

  entryOf(id: string): DetailEntry {
    return this.#entries.get(id) ?? UNREAD;
  }

  get isJournalEmpty(): boolean {
    return this.#journal.size === 0;
  }

  /** Ids of the solicitations in the journal that returned 404. */
  get gone(): ReadonlySet<string> {
    return new Set([...this.#journal.values()].filter(({ entry }) => entry === null).map(({ id }) => id));
  }

  /** Marks the details of `due` to be read, and drops those not in `present`. */
  async markDue(due: ReadonlySet<string>, present: ReadonlySet<string>, nowMs: number): Promise<void> {
    for (const id of due) this.#entries.set(id, { ...this.entryOf(id), isDue: true });
    const gone = [...this.#entries.keys()].filter((id) => !present.has(id));
    for (const id of gone) this.#entries.delete(id);
    if (gone.length > 0) await this.#rewrite(nowMs, present);
    if (gone.length + due.size > 0) await this.#saveIndex();
  }

  /** Appends an outcome to the journal. Returns whether it changed the stored detail. */
  async save(id: string, outcome: DetailOutcome, nowMs: number): Promise<boolean> {
    const held = this.entryOf(id);
    const line = journalLineOf(id, outcome, held, nowMs);
    this.#journalBytes = await appendAt(this.#journalPath, this.#journalBytes, `${JSON.stringify(line)}\n`, false);
    this.#apply(line);
    return line.entry?.digest !== held.digest;
  }

  get isJournalLong(): boolean {
    return this.#journal.size >= JOURNALLED;
  }

  /**
   * Merges the journal into the file of details and re-evaluates `is_open`.
   *
   * @returns the next deadline in milliseconds since 1970; null if there is none.
   */
  async merge(nowMs: number): Promise<number | null> {
    const deadlineMs = await this.#rewrite(nowMs, null);
    await this.#saveIndex();
    await rm(this.#journalPath, { force: true });
    this.#journal = new Map();
    this.#journalBytes = 0;
    return deadlineMs;
  }

  async drop(): Promise<void> {
    this.#entries.clear();
    this.#journal.clear();
    this.#journalBytes = 0;
    for (const path of [this.#indexPath, this.#journalPath]) await rm(path, { force: true });
    await this.#files.remove(DETAILS);
  }

  #apply(line: JournalLine): void {
    if (line.entry === null) this.#entries.delete(line.id);
    else this.#entries.set(line.id, line.entry);
    // A later 304 must not lose the detail received before.
    const { detail } = { ...this.#journal.get(line.id), ...line };
    this.#journal.set(line.id, detail === undefined ? line : { ...line, detail });
  }

  async #rewrite(nowMs: number, present: ReadonlySet<string> | null): Promise<number | null> {
    let deadlineMs: number | null = null;
    const lines = async function* (held: AsyncIterator<Line<ListedRecord>>, read: AsyncIterator<Line<JournalLine>>) {
      for await (const { id, left, right } of joinById(held, read)) {
        if (right?.entry === null || present?.has(id) === false) continue;
        const detail = right?.detail ?? left;
        if (detail === undefined) continue;
        deadlineMs = earliest(deadlineMs, deadlineOf(detail, nowMs));
        yield JSON.stringify({ ...detail, is_open: isOpenAt(detail, nowMs) });
      }
    };
    if (!this.#files.exists(DETAILS) && this.#journal.size === 0) return deadlineMs;
    const read = [...this.#journal.values()]
      .sort((a, b) => compareIds(a.id, b.id))
      .map((value) => ({ id: value.id, value }));
    await this.#files.replace(DETAILS, lines(recordsIn(this.#files.path(DETAILS)), iterate(read)));
    return deadlineMs;
  }

  async #saveIndex(): Promise<void> {
    const lines = [...this.#entries].map(([id, entry]) => JSON.stringify({ id, ...entry }));
    await replaceFile(this.#indexPath, lines);
  }
}

function journalLineOf(id: string, outcome: DetailOutcome, entry: DetailEntry, nowMs: number): JournalLine {
  if (outcome.type === 'gone') return { id, entry: null };
  const read = { ...entry, readAt: new Date(nowMs).toISOString(), isDue: false };
  // `wasOpen` carries over: the service's ETag covers `is_open`, so a 304 means that it did not change.
  if (outcome.type === 'unchanged') return { id, entry: read };
  const { etag, detail } = outcome;
  const digest = createHash('sha256').update(comparable('solicitations', detail)).digest('base64url');
  return { id, entry: { ...read, etag, wasOpen: isServedOpen(detail), digest }, detail };
}

/**
 * Reads the records in a file; none if the file does not exist.
 *
 * @throws CopyError if a line is not a JSON object.
 */
export async function* recordsIn(path: string): AsyncGenerator<Line<ListedRecord>, void, undefined> {
  let number = 0;
  for await (const line of readLines(path)) {
    number += 1;
    const value = parseLine(line);
    if (value === null)
      throw new CopyError(
        `${path}: line ${number} was not written by a mirror. Delete the file and run the mirror again`,
      );
    yield { id: String(value['id']), value };
  }
}

/** Null if the line is not a JSON object. */
function parseLine(line: string): ListedRecord | null {
  try {
    const value = JSON.parse(line) as unknown;
    return typeof value === 'object' ? (value as ListedRecord | null) : null;
  } catch {
    return null;
  }
}

async function* iterate<T>(lines: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* lines;
}

/** When an open solicitation closes, in milliseconds since 1970; null if it is not open or has no deadline. */
export function deadlineOf(record: ListedRecord, nowMs: number): number | null {
  const closesAtMs = typeof record['close_at'] === 'string' ? Date.parse(record['close_at']) : Number.NaN;
  return record['status'] === 'open' && closesAtMs > nowMs ? closesAtMs : null;
}

export function earliest(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}

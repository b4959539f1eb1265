import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { appendFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { comparable, isOpenAt, isServedOpen, type ListedRecord } from './kinds.ts';
import { compareIds, joinById, readLines, replaceFile, type Line } from './ndjson-files.ts';
import type { DetailOutcome } from './store.ts';

/** What is known of a detail besides itself. */
export interface DetailEntry {
  readonly etag: string | null;
  /** Null where it was never read. */
  readonly readAt: string | null;
  readonly wasOpen: boolean;
  /** Of the detail, but for what is open, to tell whether another one differs. */
  readonly digest: string | null;
  /** The solicitation changed since it was read. */
  readonly isDue: boolean;
}

interface JournalLine {
  readonly id: string;
  readonly entry: DetailEntry | null;
  readonly detail?: ListedRecord;
}

const UNREAD: DetailEntry = { etag: null, readAt: null, wasOpen: false, digest: null, isDue: false };

/** So many are kept in the journal before they are put in their place. */
const JOURNALLED = 5_000;

/**
 * The details in an NDJSON copy: a file of them in the order of their ids, an index with the tags, and a journal of
 * those that were read since, which one that is killed leaves for the next.
 */
export class NdjsonDetails {
  readonly path: string;
  readonly #indexPath: string;
  readonly #journalPath: string;
  readonly #entries = new Map<string, DetailEntry>();
  #journal = new Map<string, JournalLine>();

  constructor(directory: string, internal: string) {
    this.path = join(directory, 'solicitation-details.ndjson');
    this.#indexPath = join(internal, 'details-index.ndjson');
    this.#journalPath = join(internal, 'details-journal.ndjson');
  }

  async load(): Promise<void> {
    for await (const line of readLines(this.#indexPath)) {
      const { id, ...entry } = JSON.parse(line) as DetailEntry & { id: string };
      this.#entries.set(id, entry);
    }
    for await (const line of readLines(this.#journalPath)) this.#apply(JSON.parse(line) as JournalLine);
  }

  entryOf(id: string): DetailEntry {
    return this.#entries.get(id) ?? UNREAD;
  }

  get isJournalEmpty(): boolean {
    return this.#journal.size === 0;
  }

  /** Ids whose solicitations turned out to be gone. */
  get gone(): ReadonlySet<string> {
    return new Set([...this.#journal.values()].filter(({ entry }) => entry === null).map(({ id }) => id));
  }

  /** Notes that these have to be read; of the others, keeps only those that are still there. */
  async markDue(due: ReadonlySet<string>, present: ReadonlySet<string>, nowMs: number): Promise<void> {
    for (const id of due) this.#entries.set(id, { ...this.entryOf(id), isDue: true });
    const gone = [...this.#entries.keys()].filter((id) => !present.has(id));
    for (const id of gone) this.#entries.delete(id);
    if (gone.length > 0) await this.#rewrite(nowMs, present);
    if (gone.length + due.size > 0) await this.#saveIndex();
  }

  /** Whether it changed what is held. */
  async save(id: string, outcome: DetailOutcome, nowMs: number): Promise<boolean> {
    const held = this.entryOf(id);
    const line = journalLineOf(id, outcome, held, nowMs);
    await appendFile(this.#journalPath, `${JSON.stringify(line)}\n`);
    this.#apply(line);
    return line.entry?.digest !== held.digest;
  }

  get isJournalLong(): boolean {
    return this.#journal.size >= JOURNALLED;
  }

  /**
   * Puts in its place what the journal holds, and decides anew what is open.
   *
   * @returns the next deadline in milliseconds.
   */
  async merge(nowMs: number): Promise<number | null> {
    const deadlineMs = await this.#rewrite(nowMs, null);
    await this.#saveIndex();
    await rm(this.#journalPath, { force: true });
    this.#journal = new Map();
    return deadlineMs;
  }

  async drop(): Promise<void> {
    this.#entries.clear();
    this.#journal.clear();
    for (const path of [this.path, this.#indexPath, this.#journalPath]) await rm(path, { force: true });
  }

  #apply(line: JournalLine): void {
    if (line.entry === null) this.#entries.delete(line.id);
    else this.#entries.set(line.id, line.entry);
    // A later 304 keeps what was received before.
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
    if (!existsSync(this.path) && this.#journal.size === 0) return deadlineMs;
    const read = [...this.#journal.values()]
      .sort((a, b) => compareIds(a.id, b.id))
      .map((value) => ({ id: value.id, value }));
    await replaceFile(this.path, lines(recordsIn(this.path), iterate(read)));
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
  // What did not change is as open as it was: that is a part of what the service tells apart.
  if (outcome.type === 'unchanged') return { id, entry: read };
  const { etag, detail } = outcome;
  const digest = createHash('sha256').update(comparable('solicitations', detail)).digest('base64url');
  return { id, entry: { ...read, etag, wasOpen: isServedOpen(detail), digest }, detail };
}

export async function* recordsIn(path: string): AsyncGenerator<Line<ListedRecord>, void, undefined> {
  for await (const line of readLines(path)) {
    const value = JSON.parse(line) as ListedRecord;
    yield { id: String(value['id']), value };
  }
}

async function* iterate<T>(lines: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* lines;
}

/** When an open solicitation closes, in milliseconds since 1970; null where it does not. */
export function deadlineOf(record: ListedRecord, nowMs: number): number | null {
  const closesAtMs = typeof record['close_at'] === 'string' ? Date.parse(record['close_at']) : Number.NaN;
  return record['status'] === 'open' && closesAtMs > nowMs ? closesAtMs : null;
}

export function earliest(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}

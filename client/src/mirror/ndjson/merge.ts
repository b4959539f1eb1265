import { closeSync } from 'node:fs';
import { closesAtMs, idOf, withoutTime, type Kind } from '../kinds.ts';
import { changeOf, CopyError, type CopyChange } from '../store.ts';
import { createFile, LineWriter, newOf, readLines } from './ndjson-files.ts';

/** A record by its id; null if it was removed. */
export interface Entry {
  readonly id: string;
  readonly record: string | null;
}

/** The contents of a kind's new file. */
export interface Merged {
  readonly kind: Kind;
  /** In bytes. */
  readonly size: number;
  readonly held: number;
  /** The earliest deadline of a solicitation that is open, in milliseconds since 1970; `Infinity` if there is none. */
  readonly deadlineMs: number;
}

/**
 * Writes the new version of a file next to it, from its records and those received, both sorted by id. A complete list
 * drops the others. `is_open` is evaluated for the moment `nowMs`. Yields the changes to report.
 */
export function* merge(
  path: string,
  kind: Kind,
  received: Iterable<Entry>,
  { isComplete, isFirstCopy, nowMs }: { isComplete: boolean; isFirstCopy: boolean; nowMs: number },
): Generator<CopyChange, Merged, undefined> {
  const file = createFile(newOf(path));
  try {
    const writer = new LineWriter(file);
    let [held, deadlineMs] = [0, Infinity];
    for (const { id, stored, received: update } of join(storedIn(path), received)) {
      const before = stored === null ? null : withoutTime(kind, stored);
      const merged = update === undefined && !isComplete ? before : (update ?? null);
      const record = merged === null ? null : withoutTime(kind, merged);
      if (before !== record && !isFirstCopy) yield { kind, id, change: changeOf(before, record), before, record };
      if (record === null) continue;
      held += 1;
      const closesMs = kind === 'solicitations' ? closesAtMs(record) : -Infinity;
      if (closesMs > nowMs) deadlineMs = Math.min(deadlineMs, closesMs);
      writer.write(closesMs > nowMs ? record.replace('"is_open":false', '"is_open":true') : record);
    }
    return { kind, size: writer.end(), held, deadlineMs };
  } finally {
    closeSync(file);
  }
}

function* storedIn(path: string): Generator<Entry, void, undefined> {
  let number = 0;
  for (const record of readLines(path)) {
    number += 1;
    let id: string;
    try {
      id = idOf(record);
    } catch (cause) {
      const advice = 'Delete the file and run the mirror again';
      throw new CopyError(`${path}: line ${number} was not written by a mirror. ${advice}`, { cause });
    }
    yield { id, record };
  }
}

/** Joins records by id. `received` is undefined for those that are only stored. */
function* join(
  stored: Iterable<Entry>,
  received: Iterable<Entry>,
): Generator<{ id: string; stored: string | null; received: string | null | undefined }, void, undefined> {
  const [olds, news] = [stored[Symbol.iterator](), received[Symbol.iterator]()];
  const next = (entries: Iterator<Entry>): Entry | undefined => entries.next().value as Entry | undefined;
  let [a, b] = [next(olds), next(news)];
  while (a !== undefined || b !== undefined) {
    const order = compareEntries(a, b);
    const [left, right] = [order <= 0 ? a : undefined, order >= 0 ? b : undefined];
    yield { id: String((left ?? right)?.id), stored: left?.record ?? null, received: right?.record };
    if (left !== undefined) a = next(olds);
    if (right !== undefined) b = next(news);
  }
}

/** A list that has ended counts as after the other. */
function compareEntries(a: Entry | undefined, b: Entry | undefined): number {
  if (a === undefined) return 1;
  return b === undefined ? -1 : compareIds(a.id, b.id);
}

/** Compares ids by their UTF-8 bytes, the order of the lists. UTF-16 order differs for characters above U+FFFF. */
function compareIds(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));
}

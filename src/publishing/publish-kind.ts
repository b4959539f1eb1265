import { PlannedKeyLines, type KeyLines } from './key-lines.ts';
import { lineKey, startingKey } from './line-key.ts';
import type { PreparedLine } from './line-preparer.ts';
import { LineTooLongError, readLines, type Line } from './lines.ts';
import { planPositions, type PlannedKey, type PositionPlan } from './position-plan.ts';
import { openPreparation, RecordTooLargeError } from './preparation.ts';
import { loadLineHashes } from './record-table.ts';
import { isNumbered, keyField, type NumberedKind, type RecordKind } from './records.ts';
import { contentHash } from './rows.ts';
import type { Counts, Entry, RecordWriter, ImportContext } from './import-context.ts';
import { MAX_LINE_BYTES } from './size-limits.ts';
import { ArchiveTooLargeError, type Source } from './source.ts';

/** Lines looked up and written together: enough for few round trips, few enough to hold in memory. */
const BATCH_LINES = 500;

/** Approximate limit of a batch's size: `BATCH_LINES` of the longest lines would not fit into memory. */
const BATCH_BYTES = 8 * 1024 * 1024;

/** Batches prepared ahead, so that no thread waits for the next. */
const BATCHES_AHEAD = 2;

/** The result of reading one source. */
export interface KindOutcome {
  counts: Counts;
  /** The line number of each key. */
  lines: KeyLines;
  /** Keys of the source's removal lines. */
  removals: string[];
}

/** Reads a whole source: checks every line and writes new and changed records. Adds problems to `context.problems`. */
export async function publishKind<K extends RecordKind>(
  context: ImportContext,
  source: Source & { kind: K },
  writer: RecordWriter<K>,
  onRead: (bytes: number, lines: number) => void,
): Promise<KindOutcome> {
  const outcome: KindOutcome = {
    counts: { added: 0, changed: 0, unchanged: 0, removed: 0 },
    lines: new Map<string, number>(),
    removals: [],
  };
  const preparation = openPreparation(source.kind, source.size);
  try {
    const plan = isNumberedSource(source) ? await planPositions(context, source) : null;
    const publisher = batchPublisher(context, source, writer, plan, outcome);
    /** Batches in preparation while earlier ones are written. */
    const ahead: { lines: number; open: OpenLine[]; prepared: Promise<PreparedLine<K>[]> }[] = [];
    /** The batch being written while the next ones are read and prepared. */
    let writing: Promise<void> = Promise.resolve();
    const start = async (lines: readonly Line[]): Promise<void> => {
      // Stored hashes are read between two writes: both use the same connection.
      if (!context.emptyKinds.has(source.kind)) await writing;
      const open = await publisher.passUnchanged(lines);
      ahead.push({ lines: lines.length, open, prepared: preparation.prepare(open.map(({ bytes }) => bytes)) });
    };
    const finish = async (most: number): Promise<void> => {
      for (let batch = ahead[0]; batch !== undefined && ahead.length > most; batch = ahead[0]) {
        ahead.shift();
        const { open, prepared, lines } = batch;
        const written = await prepared;
        await writing;
        writing = publisher.write(open, written).then(() => onRead(0, lines));
        // Awaited later; until then a rejection must not count as unhandled.
        writing.catch(() => undefined);
      }
      if (most === 0) await writing;
    };
    let batch: Line[] = [];
    let batchBytes = 0;
    for await (const lines of readLines(source.open((bytes) => onRead(bytes, 0)))) {
      for (const line of lines) {
        if (publisher.refuseTooLong(line)) continue;
        batch.push(line);
        batchBytes += line.bytes.length;
        if (batch.length < BATCH_LINES && batchBytes < BATCH_BYTES) continue;
        await start(batch);
        batch = [];
        batchBytes = 0;
        await finish(BATCHES_AHEAD);
      }
    }
    await start(batch);
    await finish(0);
    writer.checkWhole?.(source.name);
  } catch (error) {
    if (!isReadError(error)) throw error;
    context.problems.add({ file: source.name, line: null, field: '', reason: `cannot be read: ${error.message}` });
  } finally {
    await preparation.close();
  }
  return outcome;
}

function isNumberedSource(source: Source): source is Source & { kind: NumberedKind } {
  return isNumbered(source.kind);
}

/** A line that must be parsed, with what is already known of it. */
interface OpenLine extends Line {
  /** Null if its key could not be read without parsing, or its kind is not numbered. */
  planned: PlannedKey | null;
  hash: string;
  /** An earlier line has the same key. */
  isRepeated: boolean;
}

function batchPublisher<K extends RecordKind>(
  context: ImportContext,
  source: Source & { kind: K },
  writer: RecordWriter<K>,
  plan: PositionPlan | null,
  outcome: KindOutcome,
) {
  const { kind, name } = source;
  const report = (line: number, field: string, reason: string): void =>
    context.problems.add({ file: name, line, field, reason });

  const plannedLines = plan === null ? null : new PlannedKeyLines(plan);
  const otherLines = new Map<string, number>();
  outcome.lines = plannedLines ?? otherLines;

  /** Reports a line that is too long, and skips it. */
  const refuseTooLong = ({ number, bytes }: Line): boolean => {
    const maxBytes = MAX_LINE_BYTES[kind];
    if (bytes.length <= maxBytes) return false;
    report(number, '', `is ${bytes.length} bytes long; a line of this file must have at most ${maxBytes}`);
    const key = startingKey(bytes);
    if (key !== null) writer.markAsPresent?.(key);
    return true;
  };

  /** True for the first line with this key; reports any other. */
  const isFirst = (key: string, place: number | null, line: number): boolean => {
    const first = plannedLines === null ? otherLines.get(key) : plannedLines.at(place ?? -1);
    if (first !== undefined) report(line, keyField(kind), `${JSON.stringify(key)} stands on line ${first} already`);
    else if (plannedLines === null) otherLines.set(key, line);
    else if (place !== null) plannedLines.set(place, line);
    return first === undefined;
  };

  const lineHashes = async (keys: string[]): Promise<ReadonlyMap<string, string>> =>
    isNumbered(kind) && !context.emptyKinds.has(kind) ? loadLineHashes(context.database, kind, keys) : new Map();

  /** Counts lines unchanged since the last import, and returns the others. */
  const passUnchanged = async (lines: readonly Line[]): Promise<OpenLine[]> => {
    if (plan === null) return lines.map((line) => ({ ...line, planned: null, hash: '', isRepeated: false }));
    const keys = lines.map(({ bytes }) => lineKey(bytes));
    const hashes = await lineHashes(keys.filter((key) => key !== null));
    return lines.flatMap((line, index) => {
      const hash = contentHash(line.bytes);
      const planned = plan.find(keys[index] ?? '');
      const isRepeated = planned !== null && !isFirst(planned.key, planned.place, line.number);
      if (planned === null || isRepeated || hashes.get(planned.key) !== hash) {
        return { ...line, planned, hash, isRepeated };
      }
      outcome.counts.unchanged += 1;
      return [];
    });
  };

  const entryOf = ({ number: line, ...open }: OpenLine, prepared: PreparedLine<K>): Entry<K> | null => {
    if (prepared.type === 'bad') {
      for (const problem of prepared.problems) context.problems.add({ file: name, line, ...problem });
      if (prepared.key !== null) writer.markAsPresent?.(prepared.key);
      return null;
    }
    if (open.isRepeated) return null;
    if (plan === null && !isFirst(prepared.key, null, line)) return null;
    if (plan !== null && open.planned?.key !== prepared.key) {
      report(line, keyField(kind), 'stands in the line twice');
      return null;
    }
    // Uses the plan's string, so that each key is in memory once.
    const { key, row } = open.planned ?? { key: prepared.key, row: null };
    if (prepared.type === 'record') {
      const { record, updatedAt, hash } = prepared;
      return { line, key, row, lineHash: open.hash, record, updatedAt, hash };
    }
    outcome.removals.push(key);
    return null;
  };

  const write = async (lines: readonly OpenLine[], prepared: readonly PreparedLine<K>[]): Promise<void> => {
    const entries = prepared.flatMap((line, index) => {
      const open = lines[index];
      return open === undefined ? [] : (entryOf(open, line) ?? []);
    });
    await writer.check?.(entries, name);
    if (context.problems.isEmpty) {
      const { added, changed, unchanged } = await writer.write(entries);
      outcome.counts.added += added;
      outcome.counts.changed += changed;
      outcome.counts.unchanged += unchanged;
    } else {
      for (const { key } of entries) writer.markAsPresent?.(key);
    }
  };

  return { refuseTooLong, passUnchanged, write };
}

/** File system and archive errors have a Node error code; database errors have other codes. */
function isReadError(error: unknown): error is Error {
  if (error instanceof LineTooLongError || error instanceof ArchiveTooLargeError) return true;
  if (error instanceof RecordTooLargeError) return true;
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return error instanceof Error && /^(Z_|ENOENT|EACCES|EISDIR|EIO|EPERM)/.test(code);
}

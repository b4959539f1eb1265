import { LineTooLongError, readLines } from './lines.ts';
import { lineParser } from './record-parser.ts';
import { keyField, type RecordKind } from './records.ts';
import type { Counts, Entry, KindWriter, Run } from './run.ts';
import type { Source } from './source.ts';

/** Lines that are looked up and written together: enough for few round trips, few enough to hold. */
const BATCH_LINES = 500;

/** What was read of one source. */
export interface KindOutcome {
  counts: Counts;
  /** The line on which each key stands. */
  lines: Map<string, number>;
  /** Keys that the source asks to remove. */
  removals: string[];
}

/** Reads one source to its end: checks every line, and writes what is new or changed. */
export async function publishKind<K extends RecordKind>(
  run: Run,
  source: Source & { kind: K },
  writer: KindWriter<K>,
  onRead: (bytes: number, lines: number) => void,
): Promise<KindOutcome> {
  const parse = lineParser(source.kind);
  const outcome: KindOutcome = {
    counts: { added: 0, changed: 0, unchanged: 0, removed: 0 },
    lines: new Map(),
    removals: [],
  };
  const report = (line: number, field: string, reason: string): void =>
    run.problems.add({ file: source.name, line, field, reason });
  let batch: Entry<K>[] = [];

  const flush = async (): Promise<void> => {
    const entries = batch;
    batch = [];
    await writer.check?.(entries, source.name);
    if (run.problems.isEmpty) {
      const { added, changed, unchanged } = await writer.write(entries);
      outcome.counts.added += added;
      outcome.counts.changed += changed;
      outcome.counts.unchanged += unchanged;
    } else {
      for (const { key } of entries) writer.assume?.(key);
    }
    onRead(0, entries.length);
  };

  try {
    for await (const { number, text } of readLines(source.open((bytes) => onRead(bytes, 0)))) {
      if (text === null) {
        report(number, '', 'is not UTF-8');
        continue;
      }
      const parsed = parse(text);
      if (parsed.type === 'bad') {
        for (const { field, reason } of parsed.problems) report(number, field, reason);
        if (parsed.key !== null) writer.assume?.(parsed.key);
        continue;
      }
      const first = outcome.lines.get(parsed.key);
      if (first !== undefined) {
        report(number, keyField(source.kind), `${JSON.stringify(parsed.key)} stands on line ${first} already`);
        continue;
      }
      outcome.lines.set(parsed.key, number);
      if (parsed.type === 'removal') outcome.removals.push(parsed.key);
      else batch.push({ line: number, key: parsed.key, record: parsed.record, updatedAt: parsed.updatedAt });
      if (batch.length >= BATCH_LINES) await flush();
    }
    await flush();
  } catch (error) {
    if (!isReadError(error)) throw error;
    run.problems.add({ file: source.name, line: null, field: '', reason: `cannot be read: ${error.message}` });
  }
  return outcome;
}

/** Errors of the file system and of broken archives carry a code of Node's; so does nothing of a database. */
function isReadError(error: unknown): error is Error {
  if (error instanceof LineTooLongError) return true;
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return error instanceof Error && /^(Z_|ENOENT|EACCES|EISDIR|EIO|EPERM)/.test(code);
}

import { sql } from 'kysely';
import { inBatches, loadValues } from '../database/rows.ts';
import { isIndexed, keyField, type Kind } from '../kinds.ts';
import type { Counts, ImportContext } from './import-context.ts';
import { planPositions, type KeyLines, type PlannedKey } from './positions/position-plan.ts';
import { lineHash, lineKey, readLines, startingKey, UnreadableFileError, type Line } from './read/lines.ts';
import { lineParser, type ParsedLine } from './read/record-parser.ts';
import { describeTooLong } from './read/record-schemas.ts';
import type { Source } from './read/source.ts';
import type { RecordWriter } from './write/record-writer.ts';
import type { Entry } from './write/stored-records.ts';

/** Lines that are looked up and written together, at most. A chunk of a file has fewer, unless they are tiny. */
const BATCH_LINES = 1_000;

export interface ImportedKind {
  source: Source;
  writer: RecordWriter;
  counts: Counts;
  lines: KeyLines;
  /** Keys of the source's removal lines. */
  removals: string[];
}

/** Reads a whole source: checks every line and writes new and changed records. Adds problems to `context.problems`. */
export async function importKind(
  context: ImportContext,
  source: Source,
  writer: RecordWriter,
  onRead: (bytes: number, lines: number) => void,
): Promise<ImportedKind> {
  const published: ImportedKind = {
    source,
    writer,
    counts: { added: 0, changed: 0, unchanged: 0, removed: 0 },
    lines: new Map<string, number>(),
    removals: [],
  };
  try {
    const publisher = await openBatchPublisher(context, published);
    for await (const lines of readLines(source.open((bytes) => onRead(bytes, 0)))) {
      for (const batch of inBatches(lines, BATCH_LINES)) {
        const accepted = batch.filter((line) => !publisher.refuseTooLong(line));
        await publisher.write(await publisher.passUnchanged(accepted));
        onRead(0, batch.length);
      }
    }
    writer.rules.checkWhole?.();
  } catch (error) {
    if (!isReadError(error)) throw error;
    writer.report(null, '', `cannot be read: ${error.message}`);
  }
  await writer.finish();
  return published;
}

/** A line that must be parsed. */
interface OpenLine extends Line {
  /** Null if its key could not be read without parsing, or its kind has no index. */
  planned: PlannedKey | null;
  hash: string;
  isRepeated: boolean;
}

async function openBatchPublisher(context: ImportContext, published: ImportedKind) {
  const { source, writer, counts } = published;
  const { kind } = source;
  const { report } = writer;
  const parse = lineParser(kind);
  const plan = isIndexed(kind) ? await planPositions(context, { ...source, kind }) : null;
  const otherLines = new Map<string, number>();
  published.lines = plan ?? otherLines;
  const markAsPresent = (key: string | null): void => {
    if (key !== null) context.referenceData.markAsPresent(kind, key);
  };

  const refuseTooLong = ({ number, bytes }: Line): boolean => {
    const reason = describeTooLong(kind, bytes.length);
    if (reason === null) return false;
    report(number, '', reason);
    markAsPresent(startingKey(bytes));
    return true;
  };

  /** True for the first line with this key; reports any other. */
  const isFirst = (key: string, planned: PlannedKey | null, line: number): boolean => {
    const first = planned === null ? otherLines.get(key) : plan?.lineAt(planned);
    if (first !== undefined) report(line, keyField(kind), `${JSON.stringify(key)} is already on line ${first}`);
    else if (planned === null) otherLines.set(key, line);
    else plan?.setLine(planned, line);
    return first === undefined;
  };

  /** Counts lines unchanged since the last import, and returns the others. */
  const passUnchanged = async (lines: readonly Line[]): Promise<OpenLine[]> => {
    if (plan === null) return lines.map((line) => ({ ...line, planned: null, hash: '', isRepeated: false }));
    const keys = lines.map(({ bytes }) => lineKey(bytes));
    const present = context.emptyKinds.has(kind) ? [] : keys.filter((key) => key !== null);
    const hashes = await loadValues(context.database, kind, present, sql.ref<string>('line_hash'));
    return lines.flatMap((line, index) => {
      const hash = lineHash(line.bytes);
      const key = keys[index] ?? null;
      const planned = key === null ? null : plan.find(key);
      const isRepeated = planned !== null && !isFirst(planned.key, planned, line.number);
      if (planned === null || isRepeated || hashes.get(planned.key) !== hash) {
        return { ...line, planned, hash, isRepeated };
      }
      counts.unchanged += 1;
      return [];
    });
  };

  const entryOf = ({ number: line, ...open }: OpenLine, parsed: ParsedLine): Entry<Kind> | null => {
    if (parsed.type === 'bad') {
      for (const problem of parsed.problems) context.problems.add({ file: source.name, line, ...problem });
      markAsPresent(parsed.key);
      return null;
    }
    if (open.isRepeated) return null;
    if (plan === null && !isFirst(parsed.key, null, line)) return null;
    if (plan !== null && open.planned?.key !== parsed.key) {
      const isNew = lineKey(open.bytes) === parsed.key;
      const reason = isNew ? 'is new since the file was read first: import it again' : 'is in the line twice';
      report(line, keyField(kind), reason);
      return null;
    }
    // Uses the plan's string, so that each key is in memory once.
    const { key, position } = open.planned ?? { key: parsed.key, position: null };
    if (parsed.type === 'record') {
      const { record, updatedAt } = parsed;
      return { line, key, position, lineHash: open.hash, record, updatedAt };
    }
    published.removals.push(key);
    return null;
  };

  const write = async (lines: readonly OpenLine[]): Promise<void> => {
    const entries = lines.flatMap((line) => entryOf(line, parse(line.bytes)) ?? []);
    await writer.check(entries);
    if (context.problems.isEmpty) await writer.write(entries, counts);
    else for (const { key } of entries) markAsPresent(key);
  };

  return { refuseTooLong, passUnchanged, write };
}

/** File system and archive errors have a Node error code; database errors have other codes. */
function isReadError(error: unknown): error is Error {
  if (error instanceof UnreadableFileError) return true;
  const code = (error as NodeJS.ErrnoException).code ?? '';
  return error instanceof Error && /^(Z_|ENOENT|EACCES|EISDIR|EIO|EPERM)/.test(code);
}

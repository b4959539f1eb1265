import { keyField, RECORD_KINDS, type RecordKind } from './records.ts';
import { inBatches } from './rows.ts';
import type { KindOutcome } from './publish-kind.ts';
import type { RecordWriter, ImportContext } from './import-context.ts';
import type { Source } from './source.ts';

const BATCH_KEYS = 500;

/** `--replace` refuses to remove more than this share of a kind: a truncated file looks the same. */
const MAX_REMOVED_SHARE = 1 / 5;

/** The outcome of publishing one kind. */
export interface PublishedKind {
  source: Source;
  writer: RecordWriter<RecordKind>;
  outcome: KindOutcome;
}

interface RemovalOptions {
  replace: boolean;
  allowRemovals: boolean;
  onNote(note: string): void;
}

/**
 * Removes the records of removal lines and, with `replace`, those missing from the sources. Runs after all writes and
 * from the last kind to the first, so that only references that remain in the end prevent a removal.
 */
export async function applyRemovals(
  context: ImportContext,
  kinds: ReadonlyMap<RecordKind, PublishedKind>,
  options: RemovalOptions,
): Promise<void> {
  for (const kind of RECORD_KINDS.toReversed()) {
    const published = kinds.get(kind);
    if (published === undefined) continue;
    const { source, writer, outcome } = published;
    if (outcome.removals.length === 0 && !options.replace) continue;
    const present = new Set(await writer.listKeys());
    const asked = outcome.removals.filter((key) => {
      if (!present.has(key)) options.onNote(`${source.name}:${outcome.lines.get(key)}: ${key} was not there to remove`);
      return present.has(key);
    });
    const absent = options.replace ? [...present].filter((key) => outcome.lines.get(key) === undefined) : [];
    // Does not count what this import added.
    const before = present.size - outcome.counts.added;
    if (absent.length > before * MAX_REMOVED_SHARE && !options.allowRemovals) {
      context.problems.add({
        file: source.name,
        line: null,
        field: '',
        reason:
          `lacks ${absent.length} of the ${before} ${kind} that are there, more than a fifth: ` +
          'was it cut short? If they are to be removed, add --allow-removals',
      });
      continue;
    }
    for (const keys of inBatches([...asked, ...absent], BATCH_KEYS)) {
      await context.pause();
      const referrers = (await writer.findReferrers?.(keys)) ?? new Map<string, string>();
      for (const [key, referrer] of referrers) {
        const line = outcome.lines.get(key) ?? null;
        const reason = `${key} cannot be removed: ${referrer} refers to it`;
        context.problems.add({ file: source.name, line, field: keyField(kind), reason });
      }
      if (referrers.size === 0) await writer.remove(keys);
    }
    outcome.counts.removed = asked.length + absent.length;
  }
}

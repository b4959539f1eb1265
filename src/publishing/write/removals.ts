import { inBatches } from '../../database/rows.ts';
import type { ImportedKind } from '../import-kind.ts';
import type { ImportContext } from '../import-context.ts';
import { keyField, type Kind } from '../../kinds.ts';

/** `--replace` removes at most this share of a kind unless more is allowed: a truncated file looks like a removal. */
const MAX_REMOVED_SHARE = 1 / 5;

/** A removal by `replace` of more than `MAX_REMOVED_SHARE` of the records that were stored. */
export interface LargeRemoval {
  readonly kind: Kind;
  readonly file: string;
  readonly removed: number;
  readonly stored: number;
}

/** Without its subject, which is the file. */
export function describeLargeRemoval({ kind, removed, stored }: LargeRemoval): string {
  return `is missing ${removed} of the ${stored} ${kind} in the catalog, more than a fifth: was it cut short?`;
}

/** The options of an import that concern what it removes, and from whom. */
export interface RemovalOptions {
  /** Also removes records missing from the sources, for the kinds that have a source. */
  replace?: boolean;
  /** Lets `replace` remove more than a fifth of a kind. */
  allowRemovals?: boolean;
  /** Lets the import remove owners that partners are granted, and most of what a partner sees. */
  allowLostAccess?: boolean;
  /** Checks and counts, and writes nothing. Removals that are not allowed are only noted. */
  dryRun?: boolean;
}

/**
 * Removes the records of removal lines and, with `replace`, those missing from the sources. Runs after all writes and
 * from the last kind to the first, so that only references that remain in the end prevent a removal.
 *
 * @param kinds in dependency order.
 * @returns the large removals. If they are not allowed, the transaction must be rolled back: references were not checked,
 *   since a truncated file gives many problems.
 */
export async function applyRemovals(
  context: ImportContext,
  kinds: ReadonlyMap<Kind, ImportedKind>,
  options: RemovalOptions,
  notes: string[],
): Promise<LargeRemoval[]> {
  const removals: Awaited<ReturnType<typeof planRemoval>>[] = [];
  for (const published of [...kinds.values()].toReversed()) {
    if (published.removals.length > 0 || options.replace === true)
      removals.push(await planRemoval(published, options.replace === true, notes));
  }
  const large = removals
    .map(({ source, absent, stored }) => ({ kind: source.kind, file: source.name, removed: absent.length, stored }))
    .filter(({ removed, stored }) => removed > stored * MAX_REMOVED_SHARE)
    .toReversed();
  const isRefused = large.length > 0 && options.allowRemovals !== true && options.dryRun !== true;
  for (const { source, writer, lines, counts, requested, absent } of removals) {
    for (const keys of inBatches([...requested, ...absent])) {
      await context.pause();
      const referrers = isRefused ? new Map<string, string>() : await writer.findReferrers(keys);
      for (const [key, referrer] of referrers) {
        const reason = `${key} cannot be removed: ${referrer} refers to it`;
        writer.report(lines.get(key) ?? null, keyField(source.kind), reason);
      }
      await writer.remove(keys.filter((key) => !referrers.has(key)));
    }
    counts.removed = requested.length + absent.length;
  }
  return large;
}

/** Finds the stored records that removal lines name, and with `replace` those that are missing from the source. */
async function planRemoval(published: ImportedKind, replace: boolean, notes: string[]) {
  const { source, writer, counts, lines, removals } = published;
  const present = new Set(await writer.listKeys());
  const requested = removals.filter((key) => {
    if (!present.has(key)) notes.push(`${source.name}:${lines.get(key)}: ${key} does not exist, so it was not removed`);
    return present.has(key);
  });
  const absent = replace ? [...present].filter((key) => lines.get(key) === undefined) : [];
  // Does not count what this import added.
  return { ...published, requested, absent, stored: present.size - counts.added };
}

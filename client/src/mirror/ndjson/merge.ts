import { atTime, idOf, readFeedLine, withoutTime, type FeedKind, type Kind } from '../kinds.ts';
import type { CopyChange } from '../state.ts';
import { CopyError } from '../store.ts';
import { compareIds, readLines, Replacement } from './ndjson-files.ts';

/** A value and the id that lists are sorted by. */
export interface Entry<T> {
  readonly id: string;
  readonly value: T;
}

/** A new version of the file of a kind. */
export interface Merged {
  readonly kind: Kind;
  readonly replacement: Replacement;
  readonly held: number;
  readonly changes: readonly CopyChange[];
  /** The earliest deadline of a solicitation that is open, in milliseconds since 1970. */
  readonly deadlineMs: number | null;
}

/** How to merge. */
export interface MergeOptions {
  readonly kind: Kind;
  /** Whether records that were not received are dropped. */
  readonly isComplete: boolean;
  /** Whether changes are not listed. */
  readonly isFirstCopy: boolean;
  /** The moment for which `is_open` is evaluated. */
  readonly nowMs: number;
}

/** Writes the new version of a file from its records and those received, null for removed ones. */
export function merge(
  path: string,
  received: Iterable<Entry<string | null>>,
  { kind, isComplete, isFirstCopy, nowMs }: MergeOptions,
): Merged {
  const changes: CopyChange[] = [];
  let [held, deadlineMs]: [number, number | null] = [0, null];
  const lines = function* (): Generator<string> {
    for (const { id, left, right } of joinById(storedIn(path, kind), received)) {
      const record = right === undefined && !isComplete ? left : (right ?? undefined);
      const change = isFirstCopy ? null : changeOf(kind, left, record);
      if (change !== null) changes.push({ kind, id, change });
      if (record === undefined) continue;
      held += 1;
      const current = kind === 'solicitations' ? atTime(record, nowMs) : { record, deadlineMs: null };
      if (current.deadlineMs !== null) deadlineMs = Math.min(deadlineMs ?? Infinity, current.deadlineMs);
      yield current.record;
    }
  };
  const replacement = new Replacement(path, lines());
  return { kind, replacement, held, changes, deadlineMs };
}

function changeOf(kind: Kind, before: string | undefined, after: string | undefined): CopyChange['change'] | null {
  if (before === after) return null;
  if (before === undefined) return 'added';
  if (after === undefined) return 'removed';
  return withoutTime(kind, before) === withoutTime(kind, after) ? null : 'changed';
}

function* storedIn(path: string, kind: Kind): Generator<Entry<string>, void, undefined> {
  let number = 0;
  for (const value of readLines(path)) {
    number += 1;
    let id: string;
    try {
      id = idOf(kind, value);
    } catch (cause) {
      throw new CopyError(
        `${path}: line ${number} was not written by a mirror. Delete the file and run the mirror again`,
        { cause },
      );
    }
    yield { id, value };
  }
}

/** The changes in received lines, kind by kind. */
export function receivedOf(lines: Generator<string>): {
  /** The kind of the next change; null at the end. */
  kind(): FeedKind | null;
  /** Those of a kind that come next. */
  take(kind: FeedKind): Generator<Entry<string | null>, void, undefined>;
} {
  const read = () => {
    const line = lines.next();
    return line.done === true ? null : readFeedLine(line.value);
  };
  let next = read();
  return {
    kind: () => next?.kind ?? null,
    *take(kind) {
      for (; next?.kind === kind; next = read()) yield { id: next.id, value: next.record };
    },
  };
}

/** A full outer merge join by id. Both inputs must be sorted by `compareIds`. */
function* joinById<A, B>(
  left: Iterable<Entry<A>>,
  right: Iterable<Entry<B>>,
): Generator<{ id: string; left: A | undefined; right: B | undefined }, void, undefined> {
  const [lefts, rights] = [left[Symbol.iterator](), right[Symbol.iterator]()];
  let [a, b] = [lefts.next(), rights.next()];
  while (a.done !== true || b.done !== true) {
    const order = a.done === true ? 1 : b.done === true ? -1 : compareIds(a.value.id, b.value.id);
    const entry = order <= 0 ? (a.value as Entry<A>) : (b.value as Entry<B>);
    yield {
      id: entry.id,
      left: order <= 0 ? (a.value as Entry<A>).value : undefined,
      right: order >= 0 ? (b.value as Entry<B>).value : undefined,
    };
    if (order <= 0) a = lefts.next();
    if (order >= 0) b = rights.next();
  }
}

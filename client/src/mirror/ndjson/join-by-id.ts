import { compareIds } from './ndjson-files.ts';

/** A value and the id that lists are sorted by. */
export interface Entry<T> {
  readonly id: string;
  readonly value: T;
}

/** A full outer merge join by id. Both inputs must be sorted by `compareIds`. */
export function* joinById<A, B>(
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

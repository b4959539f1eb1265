import type { Kind } from '../../src/kinds.ts';
import { EPOCH } from '../../src/timestamp.ts';
import type { Model, ModelScope, Served } from '../model/model.ts';

/** Everything that decides about responses, after each change. */
export interface State {
  readonly model: Model;
  readonly scope: ModelScope;
  readonly isSuspended: boolean;
  readonly kinds: readonly Kind[] | null;
  /** One millisecond after the last release or change of the scope. */
  readonly watermark: string;
  readonly resets: number;
  readonly prunes: number;
  /** The visible records of lists by `kind id`, as text. */
  readonly listed: ReadonlyMap<string, string>;
}

/** The records of the feed that the partner can read, by `kind id`. */
export function readable({ model, scope, kinds, listed }: State): Map<string, Served | null> {
  const keys = [...listed.keys()].map((key) => key.split(' ') as [Kind, string]);
  const own = keys.filter(([kind]) => kinds?.includes(kind) !== false);
  return new Map(own.map(([kind, id]) => [`${kind} ${id}`, model.detail(kind, id, scope, EPOCH)]));
}

import { hash } from 'node:crypto';
import type { Scope } from '../access/scope.ts';
import { sliceableTimestamp, TIMESTAMP_BITS } from '../index/bit-slices.ts';
import type { Condition } from '../index/evaluate.ts';
import {
  ALL,
  CHANGED,
  CLOSE_AT,
  FACETS,
  facetTerm,
  ownerIn,
  PUBLICATION_BITS,
  VISIBLE_END,
  visibleSince,
  type Facet,
  type IndexedKind,
} from '../index/terms.ts';
import { queryWords } from '../index/words.ts';
import type { Since } from '../paging/updated-since.ts';

/** Behind every word with a beginning: no letter or digit comes after it. */
const LAST_CHARACTER = '\u{10ffff}';

/** Records whose field has this value. */
export function hasValue(facet: Facet, value: string): Condition {
  const term = facetTerm(facet, value);
  return { key: term, terms: [term] };
}

/** The filters of a list. A route admits those of its own parameters. */
export type ListFilters = { readonly q?: string; readonly updated_since?: string } & Readonly<
  Partial<Record<Facet, string>>
>;

/**
 * The records of a kind that a list or a count shows.
 *
 * @param since what the `updated_since` of the request means; null without one.
 */
export function listConditions(
  kind: IndexedKind,
  scope: Scope,
  filters: ListFilters,
  since: Since | null,
): readonly Condition[] {
  return [
    isVisible(scope, kind),
    ...(since === null ? [] : isNewSince(scope, kind, since)),
    ...(filters.q === undefined ? [] : hasWords(filters.q)),
    ...FACETS.flatMap((facet) => (filters[facet] === undefined ? [] : hasValue(facet, filters[facet]))),
  ];
}

/** Met by no record. */
export const NEVER: Condition = { key: '@never', terms: [] };

/** Records that have all words of `q`: the word itself, a word that it begins, or one with the same English stem. */
export function hasWords(q: string): Condition[] {
  const words = queryWords(q);
  if (words.length === 0) return [NEVER];
  return words.map(({ terms, prefix }) => {
    if (prefix === null) return { key: `${terms.join(' ')} `, terms };
    return { key: `${prefix}* ${terms.join(' ')}`, terms, ranges: [{ from: prefix, to: prefix + LAST_CHARACTER }] };
  });
}

/** Solicitations that close at a timestamp or later, or at it or earlier; none without a deadline. */
export function closes(comparison: 'at least' | 'at most', timestamp: string): Condition {
  const value = { name: CLOSE_AT, present: CLOSE_AT, width: TIMESTAMP_BITS };
  return {
    key: `${CLOSE_AT} ${comparison} ${timestamp}`,
    terms: [],
    comparison: { ...value, comparison, bound: sliceableTimestamp(timestamp) },
  };
}

/** The scope of each partner as a condition, made once. */
const scopeConditions: Readonly<Record<IndexedKind, WeakMap<Scope, Condition>>> = {
  suppliers: new WeakMap(),
  contracts: new WeakMap(),
  solicitations: new WeakMap(),
};

/** The records that a partner sees: a part of every query. */
function isVisible(scope: Scope, kind: IndexedKind): Condition {
  const cached = scopeConditions[kind].get(scope);
  if (cached !== undefined) return cached;
  const owners = scope.everythingSince === null ? ownersIn(scope, kind, null) : [ALL];
  const condition = { key: owners.length === 1 ? (owners[0] ?? '') : `@scope ${digestOf(owners)}`, terms: owners };
  scopeConditions[kind].set(scope, condition);
  return condition;
}

/**
 * Records that changed or became visible to a partner at a timestamp or later: through a publication or a grant.
 *
 * @returns no condition if all records that the partner sees did.
 */
function isNewSince(scope: Scope, kind: IndexedKind, { from, publication }: Since): Condition[] {
  const seesAll = scope.everythingSince !== null;
  // No record is older than the first publication.
  if (publication <= 1 || (scope.everythingSince !== null && scope.everythingSince >= from)) return [];
  const granted = seesAll ? [] : ownersIn(scope, kind, from);
  const changed = { name: CHANGED, present: ALL, width: PUBLICATION_BITS };
  const condition: Condition = {
    key: `${CHANGED} ${publication} ${digestOf(granted)}`,
    terms: granted,
    comparison: { ...changed, comparison: 'at least', bound: publication },
  };
  if (kind !== 'suppliers' || seesAll) return [condition];
  // A supplier also becomes visible when a contract of an owner that was granted before comes to name it.
  const visible = isVisible(scope, kind);
  const owners = new Set(visible.terms);
  const range = {
    from: visibleSince(publication),
    to: VISIBLE_END,
    accepts: (term: string) => owners.has(ownerIn(term)),
  };
  return [{ ...condition, key: `${condition.key} ${visible.key}`, ranges: [range] }];
}

/** The terms of lead entities and coops that were granted at this timestamp or later; of all for null. */
function ownersIn({ leadEntities, coops }: Scope, kind: IndexedKind, since: string | null): string[] {
  const grantedIn = (grants: ReadonlyMap<string, string>, facet: Facet): string[] =>
    [...grants].flatMap(([id, grantedAt]) => (since === null || grantedAt >= since ? [facetTerm(facet, id)] : []));
  // A coop shows contracts and their suppliers, and no solicitations.
  return [...grantedIn(leadEntities, 'lead_entity'), ...(kind === 'solicitations' ? [] : grantedIn(coops, 'coop'))];
}

function digestOf(terms: readonly string[]): string {
  return terms.length === 0 ? '' : hash('sha256', terms.join('\n'), 'base64url');
}

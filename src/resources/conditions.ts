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

/** Appended to a prefix, sorts after every word with that prefix: no letter or digit is greater. */
const LAST_CHARACTER = '\u{10ffff}';

/** Matches records whose field has this value. */
export function hasValue(facet: Facet, value: string): Condition {
  const term = facetTerm(facet, value);
  return { key: term, terms: [term] };
}

/** The filters of a list. Each route accepts only those of its own parameters. */
export type ListFilters = { readonly q?: string; readonly updated_since?: string } & Readonly<
  Partial<Record<Facet, string>>
>;

/**
 * Matches the records of a kind that a list or count includes.
 *
 * @param since the meaning of the request's `updated_since`; null without one.
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

/** Matches no record. */
export const NEVER: Condition = { key: '@never', terms: [] };

/**
 * Matches records that contain every word of `q`: the word itself, a word that starts with it, or one with the same
 * English stem.
 */
export function hasWords(q: string): Condition[] {
  const words = queryWords(q);
  if (words.length === 0) return [NEVER];
  return words.map(({ terms, prefix }) => {
    if (prefix === null) return { key: `${terms.join(' ')} `, terms };
    return { key: `${prefix}* ${terms.join(' ')}`, terms, ranges: [{ from: prefix, to: prefix + LAST_CHARACTER }] };
  });
}

/** Matches solicitations that close no earlier than a timestamp, or no later; never one without a deadline. */
export function closes(comparison: 'at least' | 'at most', timestamp: string): Condition {
  const value = { name: CLOSE_AT, present: CLOSE_AT, width: TIMESTAMP_BITS };
  return {
    key: `${CLOSE_AT} ${comparison} ${timestamp}`,
    terms: [],
    comparison: { ...value, comparison, bound: sliceableTimestamp(timestamp) },
  };
}

/** Each partner's scope as a condition, built once. */
const scopeConditions: Readonly<Record<IndexedKind, WeakMap<Scope, Condition>>> = {
  suppliers: new WeakMap(),
  contracts: new WeakMap(),
  solicitations: new WeakMap(),
};

/** Matches the records that a partner can see. Part of every query. */
function isVisible(scope: Scope, kind: IndexedKind): Condition {
  const cached = scopeConditions[kind].get(scope);
  if (cached !== undefined) return cached;
  const owners = scope.everythingSince === null ? ownersIn(scope, kind, null) : [ALL];
  const condition = { key: owners.length === 1 ? (owners[0] ?? '') : `@scope ${digestOf(owners)}`, terms: owners };
  scopeConditions[kind].set(scope, condition);
  return condition;
}

/**
 * Matches records that changed, or became visible to a partner through a release or a grant, at a timestamp or later.
 *
 * @returns no condition if that holds for all records that the partner can see.
 */
function isNewSince(scope: Scope, kind: IndexedKind, { from, publication }: Since): Condition[] {
  const seesAll = scope.everythingSince !== null;
  // No record is older than the first release.
  if (publication <= 1 || (scope.everythingSince !== null && scope.everythingSince >= from)) return [];
  const granted = seesAll ? [] : ownersIn(scope, kind, from);
  const changed = { name: CHANGED, present: ALL, width: PUBLICATION_BITS };
  const condition: Condition = {
    key: `${CHANGED} ${publication} ${digestOf(granted)}`,
    terms: granted,
    comparison: { ...changed, comparison: 'at least', bound: publication },
  };
  if (kind !== 'suppliers' || seesAll) return [condition];
  // A supplier also becomes visible when a contract whose owner was granted earlier starts to name it.
  const visible = isVisible(scope, kind);
  const owners = new Set(visible.terms);
  const range = {
    from: visibleSince(publication),
    to: VISIBLE_END,
    accepts: (term: string) => owners.has(ownerIn(term)),
  };
  return [{ ...condition, key: `${condition.key} ${visible.key}`, ranges: [range] }];
}

/** The terms of the lead entities and coops granted at this timestamp or later; of all granted ones if null. */
function ownersIn({ leadEntities, coops }: Scope, kind: IndexedKind, since: string | null): string[] {
  const grantedIn = (grants: ReadonlyMap<string, string>, facet: Facet): string[] =>
    [...grants].flatMap(([id, grantedAt]) => (since === null || grantedAt >= since ? [facetTerm(facet, id)] : []));
  // A coop grant gives access to contracts and their suppliers, but not to solicitations.
  return [...grantedIn(leadEntities, 'lead_entity'), ...(kind === 'solicitations' ? [] : grantedIn(coops, 'coop'))];
}

function digestOf(terms: readonly string[]): string {
  return terms.length === 0 ? '' : hash('sha256', terms.join('\n'), 'base64url');
}

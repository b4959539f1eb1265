import { hash } from 'node:crypto';
import type { Scope } from '../access/scope.ts';
import { grantedOwners } from '../access/visibility/owners.ts';
import { shownBy } from '../access/visibility/rules.ts';
import type { IndexedKind } from '../kinds.ts';
import { addMilliseconds } from '../timestamp.ts';
import { sliceableTimestamp, TIMESTAMP_BITS } from './bit-slices.ts';
import {
  ALL,
  CHANGED,
  CLOSE_AT,
  DETAIL_CHANGED,
  facetTerm,
  NO_DEADLINE,
  ownerIn,
  RELEASE_BITS,
  VISIBLE_END,
  visibleSince,
  type Facet,
} from './terms.ts';
import { queryWords } from './words.ts';

/** Matches records with one of the terms, a term in one of the ranges, or a value that satisfies the comparison. */
export interface Condition {
  /** The key under which each block's result is cached. */
  readonly key: string;
  readonly terms: readonly string[];
  readonly ranges?: readonly TermRange[];
  readonly comparison?: Comparison;
  /** Whether it needs terms that {@link hasAllTerms} is about. Without them it would match too few records. */
  readonly needsAllTerms?: boolean;
  /** Whether its key has the time of the request, so that no other request has it. */
  readonly isOfOneRequest?: boolean;
}

/** The terms from `from` up to `to`, in bytewise order. */
export interface TermRange {
  readonly from: string;
  readonly to: string;
  /** Filters these terms; all count without it. */
  readonly accepts?: (term: string) => boolean;
}

/** A comparison of a value with a bound; see `bit-slices.ts`. Records without a value never match. */
export interface Comparison {
  /** The value has the slices `name#0`, `name#1`, …. */
  readonly name: string;
  /** The term of all records that have a value. */
  readonly present: string;
  /** Maximum bits of a value. */
  readonly width: number;
  readonly comparison: 'at least' | 'at most';
  readonly bound: number;
}

/** The meaning of an `updated_since`. */
export interface ChangedSince {
  /** The timestamp that grants are compared with. */
  readonly from: string;
  /** The number of the first release at `from` or later, whether or not it exists yet. */
  readonly release: number;
}

/** Conditions of one kind's index for who sees what. */
export class Visibility {
  readonly #kind: IndexedKind;
  /** Each partner's scope as a condition, built once: a scope can have thousands of grants. */
  readonly #visible = new WeakMap<Scope, Condition>();

  constructor(kind: IndexedKind) {
    this.#kind = kind;
  }

  /** Matches the records that a partner can see. Part of every query. Drafts have no terms, so nothing matches them. */
  in(scope: Scope): Condition {
    const cached = this.#visible.get(scope);
    if (cached !== undefined) return cached;
    const owners = scope.everythingSince === null ? ownersIn(scope, this.#kind, null) : [ALL];
    const condition = anyOf(owners);
    this.#visible.set(scope, condition);
    return condition;
  }

  /**
   * Matches records that changed, or became visible to a partner through a release or a grant, at a timestamp or later.
   *
   * @param form whose changes count: the form in lists, or the detail, which differ for solicitations.
   * @returns no condition if that holds for all records that the partner can see.
   */
  newSince(scope: Scope, { from, release }: ChangedSince, form: 'list' | 'detail' = 'list'): Condition[] {
    const { everythingSince } = scope;
    // Every record changed in release 1 or later, so that the condition would match all.
    if (release <= 1 || (everythingSince !== null && everythingSince >= from)) return [];
    const granted = everythingSince === null ? ownersIn(scope, this.#kind, from) : [];
    const name = form === 'detail' && this.#kind === 'solicitations' ? DETAIL_CHANGED : CHANGED;
    const condition: Condition = {
      key: `${name} ${release} ${digestOf(granted)}`,
      terms: granted,
      comparison: { name, present: ALL, width: RELEASE_BITS, comparison: 'at least', bound: release },
    };
    if (this.#kind !== 'suppliers' || everythingSince !== null) return [condition];
    // A supplier also becomes visible when a contract whose owner was granted earlier starts to name it.
    const visible = this.in(scope);
    const owners = new Set(visible.terms);
    const range = {
      from: visibleSince(release),
      to: VISIBLE_END,
      accepts: (term: string) => owners.has(ownerIn(term)),
    };
    return [{ ...condition, key: `${condition.key} ${visible.key}`, ranges: [range] }];
  }
}

/** Whether a condition matches all served records. */
export function isAll({ terms, ranges = [], comparison }: Condition): boolean {
  return terms.includes(ALL) && ranges.length === 0 && comparison === undefined;
}

export const NEVER: Condition = { key: '@never', terms: [] };

/** Matches records whose field has one of these values. */
export function hasAny(facet: Facet, values: readonly string[]): Condition {
  const condition = anyOf(values.map((value) => facetTerm(facet, value)));
  return facet === 'nigp' ? { ...condition, needsAllTerms: true } : condition;
}

function anyOf(terms: readonly string[]): Condition {
  const [only] = terms;
  return { key: terms.length === 1 && only !== undefined ? only : `@any ${digestOf(terms)}`, terms };
}

/** Appended to a prefix, sorts after every word with that prefix: no letter or digit is greater. */
const LAST_CHARACTER = '\u{10ffff}';

/** Matches records with every word of `q`: the word, one that starts with it, or one with the same English stem. */
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
  const bound = sliceableTimestamp(timestamp);
  const value = { name: CLOSE_AT, present: CLOSE_AT, width: TIMESTAMP_BITS, comparison, bound };
  return { key: `${CLOSE_AT} ${comparison} ${timestamp}`, terms: [], comparison: value };
}

/** Matches solicitations that accept bids at a timestamp, or all others. `notOpen` has the statuses other than `open`. */
export function areOpen(isOpen: boolean, now: string, notOpen: readonly string[]): Condition[] {
  if (!isOpen) {
    const { terms } = hasAny('status', notOpen);
    return [{ ...closes('at most', now), key: `@not_open ${now}`, terms, isOfOneRequest: true }];
  }
  const later = closes('at least', addMilliseconds(now, 1));
  const inTime = { key: `@in_time ${now}`, terms: [NO_DEADLINE], needsAllTerms: true, isOfOneRequest: true };
  return [hasAny('status', ['open']), { ...later, ...inTime }];
}

/** The terms of the owners that show the kind and were granted at this timestamp or later; of all of them if null. */
function ownersIn(scope: Scope, kind: IndexedKind, since: string | null): string[] {
  const owners = shownBy(kind).map(([owner]) => owner);
  return grantedOwners(scope, owners).flatMap(({ owner, id, grantedAt }) =>
    since === null || grantedAt >= since ? [facetTerm(owner, id)] : [],
  );
}

function digestOf(terms: readonly string[]): string {
  return terms.length === 0 ? '' : hash('sha256', terms.join('\n'), 'base64url');
}

import { isDraft } from '../access/visibility/rules.ts';
import type { ContractRow, SolicitationRow, SupplierRow } from '../database/tables.ts';
import { stateOfLocation } from '../us-states.ts';
import type { IndexedKind } from '../kinds.ts';
import { sliceableTimestamp, slicesOf, sliceTerms, TIMESTAMP_BITS } from './bit-slices.ts';
import type { Tokenizer } from './words.ts';

/*
 * The terms that a record can be found by. All can be computed from stored columns, so that a change is the difference
 * of two term lists, and the index can be rebuilt and verified.
 */

/** Every served record: drafts have no terms at all. */
export const ALL = '@all';

/** The number of the release that last changed a record, as bit slices. */
export const CHANGED = '@changed';

/** The number of the release that last changed a solicitation's detail, as bit slices. */
export const DETAIL_CHANGED = '@detail_changed';

export const RELEASE_BITS = 31;

/** The deadline of a solicitation: the term of those that have one, and the name of its bit slices. */
export const CLOSE_AT = '@close_at';

/** Solicitations without a deadline. */
export const NO_DEADLINE = '@no_deadline';

/** The fields used by list filters and scopes. */
export type Facet =
  'lead_entity' | 'coop' | 'supplier' | 'city_service' | 'state' | 'certification' | 'status' | 'nigp';

/** The term of a field's value. Words contain only letters and digits, so none can collide. */
export function facetTerm(facet: Facet, value: string): string {
  return `@${facet}=${value}`;
}

/** Numbers are padded, so that terms sort numerically. */
const MAX_RELEASE_DIGITS = 10;

/** The prefix of a release's {@link visibleTerm}s. Those of later releases sort after it. */
export function visibleSince(release: number): string {
  return `@visible=${String(release).padStart(MAX_RELEASE_DIGITS, '0')}`;
}

/** Sorts after every {@link visibleTerm}. */
export const VISIBLE_END = '@visible>';

/** The term of a supplier named by an owner's contract since a release. The supplier's last change can be earlier. */
export function visibleTerm({ owner, since }: SupplierPath): string {
  return `${visibleSince(since)} ${owner}`;
}

/** The owner's term in a {@link visibleTerm}. */
export function ownerIn(term: string): string {
  return term.slice(term.indexOf(' ') + 1);
}

/** A lead entity or coop that makes a supplier visible through a contract. */
export interface SupplierPath {
  /** The facet term of the lead entity or coop. */
  readonly owner: string;
  /** The first release that made it visible. */
  readonly since: number;
}

/** A stored record with all its columns and what else its terms are computed from. */
export interface StoredRow {
  suppliers: SupplierRow & { readonly city_services: readonly string[]; readonly paths: readonly SupplierPath[] };
  contracts: ContractRow;
  solicitations: SolicitationRow;
}

interface RecordTerms {
  readonly texts: readonly (string | null)[];
  /** Can contain duplicates. */
  readonly terms: readonly string[];
}

/** The terms of a stored record. */
export const TERMS: { readonly [K in IndexedKind]: (row: StoredRow[K]) => RecordTerms } = {
  suppliers(row) {
    const { name, states_served, location } = JSON.parse(`${row.document}}`) as {
      name: string;
      states_served: string[];
      location: string | null;
    };
    const certifications = JSON.parse(row.certifications_all) as string[];
    return {
      texts: [name, row.short_intro, row.about],
      terms: [
        ...changedTerms(row),
        // The filter does not distinguish states served from the state of the location.
        ...facetTerms('state', [...states_served, stateOfLocation(location) ?? []].flat()),
        ...facetTerms('certification', certifications),
        ...facetTerms('city_service', row.city_services),
        ...row.paths.flatMap(pathTerms),
      ],
    };
  },
  contracts(row) {
    const { name, summary, description, suppliers, city_services } = JSON.parse(`${row.document}}`) as {
      name: string;
      summary: string | null;
      description: string | null;
      suppliers: { id: string }[];
      city_services: { id: string }[];
    };
    return {
      texts: [name, summary, description],
      terms: [
        ...changedTerms(row),
        facetTerm('lead_entity', row.lead_entity_id),
        ...facetTerms('coop', row.coop_id === null ? [] : [row.coop_id]),
        ...facetTerms('supplier', suppliers.map(({ id }) => id)), // prettier-ignore
        ...facetTerms('city_service', city_services.map(({ id }) => id)), // prettier-ignore
      ],
    };
  },
  solicitations(row) {
    // Drafts are never served, so never found.
    if (isDraft(row)) return { texts: [], terms: [] };
    const { title, reference_number, description, nigp_codes } = JSON.parse(`${row.document}${row.detail}}`) as {
      title: string;
      reference_number: string;
      description: string | null;
      nigp_codes: { code: string }[];
    };
    const closeAt =
      row.close_at === null ? [NO_DEADLINE] : [CLOSE_AT, ...closeAtTerms(sliceableTimestamp(row.close_at))];
    return {
      texts: [title, reference_number, description],
      terms: [
        ...changedTerms(row),
        ...detailChangeTerms(row.detail_release),
        facetTerm('status', row.status),
        facetTerm('lead_entity', row.lead_entity_id),
        ...closeAt,
        ...nigp_codes.flatMap(({ code }) => facetTerms('nigp', classesOf(code))),
      ],
    };
  },
};

/**
 * Begins the token of a block that has all of the terms above. Version 2.0 writes tokens without it, since it knows no terms
 * of NIGP codes and none for a missing deadline: until such a block is built again, it lacks terms, or has outdated ones.
 */
const MARKS: Readonly<Record<IndexedKind, string>> = { suppliers: '', contracts: '', solicitations: 'nigp ' };

/** The token of a block to which all terms of the kind were written. */
export function blockToken(kind: IndexedKind, token: string): string {
  return MARKS[kind] + token;
}

/** Whether a block with this token has all terms of its records. */
export function hasAllTerms(kind: IndexedKind, token: string): boolean {
  return token.startsWith(MARKS[kind]);
}

/** The distinct terms of a stored record. */
export function termsOf<K extends IndexedKind>(kind: K, row: StoredRow[K], tokenizer: Tokenizer): Set<string> {
  const { texts, terms } = TERMS[kind](row);
  return new Set(terms).union(tokenizer.termsOf(texts));
}

/** The terms that a path adds to a supplier. */
export function pathTerms(path: SupplierPath): string[] {
  return [path.owner, visibleTerm(path)];
}

/** An NIGP code of 3, 5, 7 or 11 digits, and the shorter ones above it. */
function classesOf(code: string): string[] {
  return [3, 5, 7, 11].filter((length) => length <= code.length).map((length) => code.slice(0, length));
}

function facetTerms(facet: Facet, values: readonly string[]): string[] {
  return values.map((value) => facetTerm(facet, value));
}

function changedTerms({ changed_release }: { readonly changed_release: number }): string[] {
  return [ALL, ...changeTerms(changed_release)];
}

function slicer(name: string, width: number): (value: number) => string[] {
  const terms = sliceTerms(name, width);
  return (value) => slicesOf(value).flatMap((slice) => terms[slice] ?? []);
}

/** The slice terms of the release that last changed a record. */
export const changeTerms = slicer(CHANGED, RELEASE_BITS);

/** The slice terms of the release that last changed a solicitation's detail. */
export const detailChangeTerms = slicer(DETAIL_CHANGED, RELEASE_BITS);

const closeAtTerms = slicer(CLOSE_AT, TIMESTAMP_BITS);

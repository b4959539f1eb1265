import type { ContractRow, SolicitationRow, SupplierRow } from '../database/tables.ts';
import { stateOfLocation } from '../resources/suppliers/states.ts';
import { sliceableTimestamp, slicesOf, TIMESTAMP_BITS } from './bit-slices.ts';
import { sliceTerms } from './evaluate.ts';
import type { Tokenizer } from './tokenizer.ts';

/*
 * The terms that a record can be found by. All can be computed from stored columns, so that a change is the difference
 * of two term lists, and the index can be rebuilt and verified.
 */

/** The kinds that have an index. */
export const INDEXED_KINDS = ['suppliers', 'contracts', 'solicitations'] as const;

export type IndexedKind = (typeof INDEXED_KINDS)[number];

/** Every served record: drafts have no terms at all. */
export const ALL = '@all';

/** The number of the publication that last changed a record, as bit slices. */
export const CHANGED = '@changed';

/** Bits of a publication's number. */
export const PUBLICATION_BITS = 31;

/** The deadline of a solicitation: the term of those that have one, and the name of its bit slices. */
export const CLOSE_AT = '@close_at';

/** The fields used by list filters and scopes. */
export const FACETS = ['lead_entity', 'coop', 'supplier', 'city_service', 'state', 'certification', 'status'] as const;

export type Facet = (typeof FACETS)[number];

/** The term of a field's value. Words contain only letters and digits, so none can collide. */
export function facetTerm(facet: Facet, value: string): string {
  return `@${facet}=${value}`;
}

/** Numbers are padded, so that terms sort numerically. */
const MAX_PUBLICATION_DIGITS = 10;

/** The prefix of a publication's {@link visibleTerm}s. Those of later publications sort after it. */
export function visibleSince(publication: number): string {
  return `@visible=${String(publication).padStart(MAX_PUBLICATION_DIGITS, '0')}`;
}

/** Sorts after every {@link visibleTerm}. */
export const VISIBLE_END = '@visible>';

/**
 * The term of a supplier that an owner's contract has named since a publication, which can be later than the supplier's
 * last change.
 */
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
  /** The first publication that made it visible. */
  readonly since: number;
}

/** The stored columns from which the terms of each kind are computed. */
export interface IndexedRow {
  suppliers: Pick<SupplierRow, 'document' | 'searched' | 'certifications_all' | 'changed_publication'> & {
    readonly city_services: readonly string[];
    readonly paths: readonly SupplierPath[];
  };
  contracts: Pick<ContractRow, 'document' | 'lead_entity_id' | 'coop_id' | 'changed_publication'>;
  solicitations: Pick<
    SolicitationRow,
    'document' | 'detail' | 'lead_entity_id' | 'status' | 'close_at' | 'changed_publication'
  >;
}

/** Collects a record's terms; duplicates count once. */
export interface TermSink {
  /** Adds the terms of a text's words. */
  addText(text: string | null): void;
  addTerm(term: string): void;
}

/** Adds a stored record's terms to a sink. */
export function collectTerms<K extends IndexedKind>(kind: K, row: IndexedRow[K], sink: TermSink): void;
export function collectTerms(kind: IndexedKind, row: IndexedRow[IndexedKind], sink: TermSink): void {
  switch (kind) {
    case 'suppliers':
      collectSupplier(row as IndexedRow['suppliers'], sink);
      break;
    case 'contracts':
      collectContract(row as IndexedRow['contracts'], sink);
      break;
    case 'solicitations':
      collectSolicitation(row as IndexedRow['solicitations'], sink);
  }
}

/** The distinct terms of a stored record. */
export function termsOf<K extends IndexedKind>(kind: K, row: IndexedRow[K], tokenizer: Tokenizer): Set<string> {
  const terms = new Set<string>();
  const texts: string[] = [];
  collectTerms(kind, row, {
    addText: (text) => text !== null && texts.push(text),
    addTerm: (term) => terms.add(term),
  });
  return terms.union(tokenizer.termsOf(texts));
}

function collectSupplier(row: IndexedRow['suppliers'], sink: TermSink): void {
  const { name, states_served, location } = JSON.parse(`${row.document}}`) as {
    name: string;
    states_served: string[];
    location: string | null;
  };
  sink.addText(name);
  sink.addText(row.searched);
  addChange(sink, row.changed_publication);
  // The filter does not distinguish states served from the state of the location.
  for (const state of [...states_served, stateOfLocation(location) ?? []].flat())
    sink.addTerm(facetTerm('state', state));
  const certifications = JSON.parse(row.certifications_all) as string[];
  for (const abbreviation of certifications) sink.addTerm(facetTerm('certification', abbreviation));
  for (const service of row.city_services) sink.addTerm(facetTerm('city_service', service));
  for (const term of row.paths.flatMap(pathTerms)) sink.addTerm(term);
}

/** The terms that a path adds to a supplier. */
export function pathTerms(path: SupplierPath): string[] {
  return [path.owner, visibleTerm(path)];
}

function collectContract(row: IndexedRow['contracts'], sink: TermSink): void {
  const { name, summary, description, suppliers, city_services } = JSON.parse(`${row.document}}`) as {
    name: string;
    summary: string | null;
    description: string | null;
    suppliers: { id: string }[];
    city_services: { id: string }[];
  };
  for (const text of [name, summary, description]) sink.addText(text);
  addChange(sink, row.changed_publication);
  sink.addTerm(facetTerm('lead_entity', row.lead_entity_id));
  if (row.coop_id !== null) sink.addTerm(facetTerm('coop', row.coop_id));
  for (const { id } of suppliers) sink.addTerm(facetTerm('supplier', id));
  for (const { id } of city_services) sink.addTerm(facetTerm('city_service', id));
}

function collectSolicitation(row: IndexedRow['solicitations'], sink: TermSink): void {
  // Drafts are never served, so never found.
  if (row.status === 'draft') return;
  const { title, reference_number, description } = JSON.parse(`${row.document}${row.detail}}`) as {
    title: string;
    reference_number: string;
    description: string | null;
  };
  for (const text of [title, reference_number, description]) sink.addText(text);
  addChange(sink, row.changed_publication);
  sink.addTerm(facetTerm('status', row.status));
  sink.addTerm(facetTerm('lead_entity', row.lead_entity_id));
  if (row.close_at !== null) {
    sink.addTerm(CLOSE_AT);
    for (const term of valueTerms(CLOSE_AT_TERMS, sliceableTimestamp(row.close_at))) sink.addTerm(term);
  }
}

function addChange(sink: TermSink, publication: number): void {
  sink.addTerm(ALL);
  for (const term of changeTerms(publication)) sink.addTerm(term);
}

const CHANGED_TERMS = sliceTerms(CHANGED, PUBLICATION_BITS);
const CLOSE_AT_TERMS = sliceTerms(CLOSE_AT, TIMESTAMP_BITS);

function valueTerms(terms: readonly string[], value: number): string[] {
  return slicesOf(value).flatMap((slice) => terms[slice] ?? []);
}

/** The slice terms of the publication that last changed a record. */
export function changeTerms(publication: number): string[] {
  return valueTerms(CHANGED_TERMS, publication);
}

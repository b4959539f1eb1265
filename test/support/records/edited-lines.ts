import fc from 'fast-check';
import { readRecords, type Records } from '../../model/records.ts';
import {
  contract,
  SMALL_CATALOG,
  solicitation,
  supplier,
  withImportDirectory,
  type ImportLines,
} from '../publishing.ts';

type Line<T = object> = Record<string, unknown> & T;

/** The lines of a catalog, by id. */
export interface Lines {
  'lead-entities': Map<string, Line>;
  coops: Map<string, Line>;
  'city-services': Map<string, Line>;
  certifications: Map<string, Line>;
  suppliers: Map<string, Line>;
  contracts: Map<string, Line<{ supplier_ids: string[] }>>;
  solicitations: Map<string, Line>;
}

export const LEAD_ENTITIES = ['le_a', 'le_b', 'le_c'];
export const COOPS = ['co_x', 'co_y'];

/**
 * Ends of ids. After the first four, some are near and some far apart in byte order, so that new ones come before,
 * between and after stored ones.
 */
const SUFFIXES = [
  ...new Set([
    ...Array.from('0123'),
    ...Array.from('-05AZ_az').flatMap((first) => ['', '-', '4', 'M', '_', 'm'].map((rest) => first + rest)),
  ]),
];
/** The most records of a kind that edits can be about. */
export const MAX_RECORDS = SUFFIXES.length;
export const idOf = (prefix: string, nth: number): string => `${prefix}_${SUFFIXES[nth] ?? ''}`;

const type = <const T extends string>(...types: T[]) => ({ type: fc.constantFrom(...types) });
export const weighted = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });
const NO_FIELDS: fc.Arbitrary<object> = fc.constant({});

interface EditParts {
  /** The number of records of each kind. */
  readonly count: number;
  readonly text: fc.Arbitrary<string>;
  /** The suppliers of a contract. */
  readonly suppliers: fc.Arbitrary<number[]>;
  /** Further fields. */
  readonly fields?: Partial<Record<'suppliers' | 'contracts' | 'solicitations', fc.Arbitrary<object>>>;
  /** Multiplies the edits of these kinds. The others change embedded records, and so many records at once. */
  readonly weight?: number;
}

export function editsOf({ count, text, suppliers, fields = {}, weight = 1 }: EditParts) {
  const nth = fc.nat({ max: count - 1 });
  const leadEntity = fc.constantFrom(...LEAD_ENTITIES);
  return fc.oneof(
    weighted(3 * weight, fc.record({ ...type('contract'), nth, text, leadEntity, coop: fc.constantFrom(null, ...COOPS), suppliers, fields: fields.contracts ?? NO_FIELDS })),
    weighted(3 * weight, fc.record({ ...type('solicitation'), nth, leadEntity, status: fc.constantFrom('draft', 'open', 'open', 'awarded'), notices: fc.nat({ max: 3 }), fields: fields.solicitations ?? NO_FIELDS })),
    weighted(2 * weight, fc.record({ ...type('supplier'), nth, text, fields: fields.suppliers ?? NO_FIELDS })),
    weighted(3 * weight, fc.record({ ...type('no contract', 'no solicitation', 'no supplier'), nth })),
    weighted(2, fc.record({ ...type('lead-entities', 'coops', 'city-services', 'certifications'), nth, text })),
  ); // prettier-ignore
}
type Edit = ReturnType<typeof editsOf> extends fc.Arbitrary<infer E> ? E : never;

const namedLines = (ids: readonly string[]) => new Map(ids.map((id): [string, Line] => [id, { id, name: id }]));

export const startingLines = (services: readonly string[] = ['cs_1']): Lines => ({
  'lead-entities': namedLines(LEAD_ENTITIES),
  coops: namedLines(COOPS),
  'city-services': namedLines(services),
  certifications: new Map(SMALL_CATALOG.certifications.map((line) => [line.abbreviation, { ...line }])),
  suppliers: new Map([['sup_0', supplier('sup_0')]]),
  contracts: new Map([['ctr_0', { ...contract('ctr_0'), supplier_ids: ['sup_0'] }]]),
  solicitations: new Map([['sol_0', solicitation('sol_0', 1)]]),
});

/** Applies an edit to the lines, and returns them; an edit that would leave a dangling reference drops it. */
export function apply(lines: Lines, edit: Edit): Lines {
  const { contracts, solicitations, suppliers } = lines;
  switch (edit.type) {
    case 'contract': {
      const id = idOf('ctr', edit.nth);
      const supplier_ids = edit.suppliers.map((nth) => idOf('sup', nth)).filter((named) => suppliers.has(named));
      const owned = { lead_entity_id: edit.leadEntity, coop_id: edit.coop, supplier_ids };
      contracts.set(id, { ...contract(id), ...owned, summary: edit.text, ...edit.fields });
      return lines;
    }
    case 'solicitation': {
      const id = idOf('sol', edit.nth);
      const notices = Array.from({ length: edit.notices }, (_, number) => ({
        ...{ id: number, title: 'Notice', body: '', created_at: '2026-01-01T00:00:00Z' },
      }));
      const owned = { lead_entity_id: edit.leadEntity, status: edit.status, notices };
      solicitations.set(id, { ...solicitation(id, edit.nth + 1), ...owned, ...edit.fields });
      return lines;
    }
    case 'supplier': {
      const id = idOf('sup', edit.nth);
      suppliers.set(id, { ...supplier(id), name: `Supplier ${edit.text}`, ...edit.fields });
      return lines;
    }
    case 'no contract':
      contracts.delete(idOf('ctr', edit.nth));
      return lines;
    case 'no solicitation':
      solicitations.delete(idOf('sol', edit.nth));
      return lines;
    case 'no supplier': {
      const id = idOf('sup', edit.nth);
      suppliers.delete(id);
      for (const line of contracts.values()) line.supplier_ids = line.supplier_ids.filter((named) => named !== id);
      return lines;
    }
    case 'certifications': {
      const line = lines.certifications.get('MBE');
      if (line !== undefined) line['type'] = edit.nth % 2 === 0 ? 'sbe' : 'technical';
      return lines;
    }
    default: {
      const all = [...lines[edit.type].values()];
      const line = all[edit.nth % all.length];
      if (line !== undefined) line['name'] = `Name ${edit.text}`;
      return lines;
    }
  }
}

export const allOf = (lines: Lines): ImportLines =>
  Object.fromEntries(Object.entries(lines).map(([kind, map]) => [kind, [...(map as Map<string, object>).values()]]));

/** The lines that are new or changed, and a line for each removed record. */
export function differing(before: Lines, after: Lines): ImportLines {
  const ofKind = (old: ReadonlyMap<string, object>, now: ReadonlyMap<string, object>): object[] => [
    ...[...now].filter(([id, line]) => JSON.stringify(line) !== JSON.stringify(old.get(id))).map(([, line]) => line),
    ...[...old.keys()].filter((id) => !now.has(id)).map((id) => ({ id, deleted: true })),
  ];
  const kinds = Object.keys(after) as (keyof Lines)[];
  const files = kinds.map((kind) => [kind, ofKind(before[kind], after[kind])] as const);
  return Object.fromEntries(files.filter(([, own]) => own.length > 0));
}

/** The records of lines that were published at once, as the model reads them. */
export const recordsOf = (lines: Lines, publishedAt: string): Promise<Records> =>
  withImportDirectory(allOf(lines), (path) => Promise.resolve(readRecords([{ path, publishedAt }])));

import fc from 'fast-check';
import type { ImportLines } from '../support/publishing.ts';
import { contract, solicitation, supplier } from '../support/publishing.ts';
import { PlainCatalog, type EmbeddedLines, type IndexedLines, type PlainFilters } from './plain-catalog.ts';
import type { IndexedKind } from '../../src/kinds.ts';

/** The change that one import makes to a record of each kind. */
interface RecordChange {
  /** The index of its id in `IDS`. */
  readonly idIndex: number;
  readonly isRemoved: boolean;
}

interface SupplierChange extends RecordChange {
  readonly words: string;
  readonly state: string;
  readonly certifications: readonly string[];
  readonly services: readonly string[];
}

interface ContractChange extends RecordChange {
  readonly words: string;
  readonly leadEntity: string;
  readonly coop: string | null;
  readonly suppliers: readonly number[];
  readonly services: readonly string[];
}

interface SolicitationChange extends RecordChange {
  readonly words: string;
  readonly leadEntity: string;
  readonly status: string;
  readonly closeAt: string | null;
  readonly hasNotice: boolean;
}

/** One import. */
export interface Release {
  readonly suppliers: readonly SupplierChange[];
  readonly contracts: readonly ContractChange[];
  readonly solicitations: readonly SolicitationChange[];
  /** Embedded records, and their new names. */
  readonly renamed: readonly { readonly kind: 'lead-entities' | 'coops' | 'city-services'; readonly name: string }[];
  /** The new type of a certification. */
  readonly certificationType: 'sbe' | 'technical' | null;
  /** Imports all lines with `--replace`, which removes every other record. */
  readonly isReplaced: boolean;
}

/** Ids both near and far apart in byte order, so that new ones come before, between and after stored ones. */
const IDS = ['-', '0', '5', 'A', 'Z', '_', 'a', 'z'].flatMap((first) =>
  ['', '-', '4', 'M', '_', 'm'].map((rest) => `i${first}${rest}`),
);

const WORDS = [
  'road',
  'roads',
  'bridge',
  'Bridges',
  'École',
  'asphalt',
  'as',
  'supply',
  'supplies',
  'Straße',
  'x1',
  '2026',
  '20267',
];
const LEAD_ENTITIES = ['le_a', 'le_b', 'le_c'];
const COOPS = ['co_x', 'co_y'];
const SERVICES = ['cs_1', 'cs_2'];
const CERTIFICATIONS = ['MBE', 'ISO'];
const DEADLINES = [
  '2026-02-28T23:59:59.999Z',
  '2026-03-01T00:00:00.000Z',
  '2026-03-01T00:00:00.001Z',
  '2031-05-06T07:08:00Z',
];

const words = fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 3 }).map((list) => list.join(' '));
const idIndex = fc.nat(IDS.length - 1);
const isRemoved = fc.nat(5).map((number) => number === 0);

const changes = <T extends RecordChange>(change: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.uniqueArray(change, { selector: ({ idIndex: index }) => index, minLength: 2, maxLength: 30, size: 'max' });

export const releases: fc.Arbitrary<Release> = fc.record({
  suppliers: changes(
    fc.record({
      ...{ idIndex, isRemoved, words },
      state: fc.constantFrom('PA', 'OH', 'MD'),
      certifications: fc.subarray(CERTIFICATIONS),
      services: fc.subarray(SERVICES),
    }),
  ),
  contracts: changes(
    fc.record({
      ...{ idIndex, isRemoved, words },
      leadEntity: fc.constantFrom(...LEAD_ENTITIES),
      coop: fc.constantFrom(null, ...COOPS),
      suppliers: fc.uniqueArray(idIndex, { maxLength: 4 }),
      services: fc.subarray(SERVICES),
    }),
  ),
  solicitations: changes(
    fc.record({
      ...{ idIndex, isRemoved, words },
      leadEntity: fc.constantFrom(...LEAD_ENTITIES),
      status: fc.constantFrom('draft', 'open', 'closed', 'awarded'),
      closeAt: fc.constantFrom(null, ...DEADLINES),
      hasNotice: fc.boolean(),
    }),
  ),
  renamed: fc.uniqueArray(
    fc.record({
      kind: fc.constantFrom('lead-entities', 'coops', 'city-services'),
      name: fc.constantFrom('One', 'Two'),
    }),
    { selector: ({ kind }) => kind, maxLength: 2 },
  ),
  certificationType: fc.option(fc.constantFrom('sbe', 'technical'), { freq: 3 }),
  isReplaced: fc.nat(4).map((number) => number === 0),
});

/** A list to read after every import. `scope` is an index into the test's scopes. */
export interface Question {
  readonly kind: IndexedKind;
  readonly scope: number;
  readonly filters: PlainFilters;
  /** How many imports before the last `updated_since` lies; null without it. */
  readonly sinceLast: number | null;
  readonly limit: number;
}

const q = fc.constantFrom(
  'road',
  'r',
  'bri',
  'bridges',
  'ecole',
  'a',
  'asph',
  'supply as',
  'strasse',
  'x',
  'nothing',
  '*',
);
const sometimes = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { freq: 1 });
const FILTERS = {
  suppliers: {
    ...{ q, state: fc.constantFrom('PA', 'OH', 'MD'), certification: fc.constantFrom('MBE', 'ISO') },
    city_service: fc.constantFrom(...SERVICES),
  },
  contracts: {
    ...{ q, lead_entity: fc.constantFrom(...LEAD_ENTITIES), coop: fc.constantFrom(...COOPS) },
    ...{ supplier: fc.constantFrom(...IDS), city_service: fc.constantFrom(...SERVICES) },
  },
  solicitations: {
    ...{ q, status: fc.constantFrom('open', 'closed', 'awarded'), lead_entity: fc.constantFrom(...LEAD_ENTITIES) },
    closing_after: fc.constantFrom(...DEADLINES.slice(0, 3)),
    closing_before: fc.constantFrom(...DEADLINES.slice(0, 3)),
  },
};

/** @param scopes the number of scopes. */
export function questions(kind: IndexedKind, scopes: number): fc.Arbitrary<Question> {
  const filters = fc
    .record(Object.fromEntries(Object.entries(FILTERS[kind]).map(([name, value]) => [name, sometimes(value)])))
    // Most combinations of more than two filters match nothing.
    .map((all) =>
      Object.fromEntries(
        Object.entries(all)
          .filter(([, value]) => value !== null)
          .slice(0, 2),
      ),
    );
  return fc.record({
    ...{ kind: fc.constant(kind), scope: fc.nat(scopes - 1), filters },
    sinceLast: fc.option(fc.nat(2), { freq: 2 }),
    limit: fc.constantFrom(1, 3, 7, 50),
  });
}

/** A catalog with embedded records only, before the first import. */
export function emptyCatalog(): PlainCatalog {
  const named = (ids: readonly string[]) => new Map(ids.map((id) => [id, { id, name: `Name of ${id}` }]));
  const lines: IndexedLines & EmbeddedLines = {
    ...{ 'lead-entities': named(LEAD_ENTITIES), coops: named(COOPS), 'city-services': named(SERVICES) },
    certifications: new Map([
      ['MBE', { abbreviation: 'MBE', name: 'Minority Business Enterprise', type: 'sbe' }],
      ['ISO', { abbreviation: 'ISO', name: 'Quality, certified', type: 'technical' }],
    ]),
    ...{ suppliers: new Map(), contracts: new Map(), solicitations: new Map() },
  };
  return new PlainCatalog(lines);
}

/**
 * Applies an import to the lines.
 *
 * @returns the lines to import: the changed and removed ones, or with `--replace` all that remain.
 */
export function applyTo(catalog: PlainCatalog, release: Release): ImportLines {
  const { lines } = catalog;
  const files: Record<string, object[]> = {};
  const put = (kind: keyof (IndexedLines & EmbeddedLines), id: string, line: object | null): void => {
    const held = lines[kind] as Map<string, object>;
    if (line === null) held.delete(id);
    else held.set(id, line);
    (files[kind] ??= []).push(line ?? { id, deleted: true });
  };
  const idAt = (index: number): string => IDS[index] ?? '';

  for (const { kind, name } of release.renamed) {
    const [first] = lines[kind].values();
    if (first !== undefined) put(kind, first.id, { ...first, name });
  }
  const held = lines.certifications.get('MBE');
  if (release.certificationType !== null && held !== undefined) {
    put('certifications', 'MBE', { ...held, type: release.certificationType });
  }
  for (const change of release.suppliers.filter((supplier) => !supplier.isRemoved)) {
    const { words: about, state, certifications, services } = change;
    const id = idAt(change.idIndex);
    const line = { ...supplier(id), states_served: [state], certifications, city_service_ids: services };
    // Half of the suppliers have the words in `name`, which lists serve, half in `about`, which they only search.
    put('suppliers', id, change.idIndex % 2 === 0 ? { ...line, about } : { ...line, name: about });
  }
  for (const change of release.contracts) {
    const id = idAt(change.idIndex);
    const { words: summary, leadEntity: lead_entity_id, coop: coop_id, services: city_service_ids } = change;
    const supplier_ids = change.suppliers.map(idAt).filter((named) => lines.suppliers.has(named));
    const line = { ...contract(id), summary, lead_entity_id, coop_id, supplier_ids, city_service_ids };
    put('contracts', id, change.isRemoved ? null : line);
  }
  // A supplier that a contract references cannot be removed.
  const named = new Set([...lines.contracts.values()].flatMap(({ supplier_ids }) => supplier_ids));
  for (const { idIndex: index } of release.suppliers.filter((supplier) => supplier.isRemoved)) {
    if (!named.has(idAt(index))) put('suppliers', idAt(index), null);
  }
  for (const change of release.solicitations) {
    const id = idAt(change.idIndex);
    const { words: description, leadEntity: lead_entity_id, status, closeAt: close_at, hasNotice } = change;
    const notices = hasNotice ? [{ id: 1, title: 'Notice', body: 'Text', created_at: '2026-01-01T00:00:00Z' }] : [];
    const line = { ...solicitation(id, change.idIndex + 1), description, lead_entity_id, status, close_at, notices };
    put('solicitations', id, change.isRemoved ? null : line);
  }
  return release.isReplaced ? catalog.allLines() : files;
}

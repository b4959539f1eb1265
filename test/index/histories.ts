import fc from 'fast-check';
import type { IndexedKind } from '../../src/kinds.ts';
import type { Filters } from '../model/model.ts';
import { COOPS, editsOf, idOf, LEAD_ENTITIES, MAX_RECORDS } from '../support/records/edited-lines.ts';

const WORDS = 'road roads bridge Bridges École asphalt as supply supplies Straße x1 2026 20267'.split(' ');
export const SERVICES = ['cs_1', 'cs_2'];
const DEADLINES = [
  '2026-02-28T23:59:59.999Z',
  '2026-03-01T00:00:00.000Z',
  '2026-03-01T00:00:00.001Z',
  '2031-05-06T07:08:00Z',
];

const words = fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 3 }).map((list) => list.join(' '));
const city_service_ids = fc.subarray(SERVICES);
const ofSupplier = {
  ...{ city_service_ids, certifications: fc.subarray(['MBE', 'ISO']) },
  states_served: fc.constantFrom('PA', 'OH', 'MD').map((state) => [state]),
};
const edit = editsOf({
  ...{ count: MAX_RECORDS, text: words, suppliers: fc.uniqueArray(fc.nat(MAX_RECORDS - 1), { maxLength: 4 }) },
  fields: {
    // Half of the suppliers have the words in `name`, which lists serve, half in `about`, which they only search.
    suppliers: fc.oneof(
      fc.record(ofSupplier),
      fc.record({ ...ofSupplier, name: fc.constant('Supplier'), about: words }),
    ),
    contracts: fc.record({ city_service_ids }),
    solicitations: fc.record({
      ...{ description: words, close_at: fc.constantFrom(null, ...DEADLINES) },
      status: fc.constantFrom('draft', 'open', 'closed', 'awarded'),
    }),
  },
  // About one embedded record changes in an import, so that `updated_since` leaves out most of the others.
  weight: 10,
});

/** Imports of all lines, which remove every other record, or of those that differ. */
export const imports = fc.array(
  fc.record({
    edits: fc.array(edit, { minLength: 6, maxLength: 150, size: 'max' }),
    isWhole: fc.nat(4).map((number) => number === 0),
  }),
  { minLength: 3, maxLength: 6, size: 'max' },
);

/** A list to read after every import. `scope` is an index into the test's scopes. */
export interface Question {
  readonly kind: IndexedKind;
  readonly scope: number;
  readonly filters: Filters;
  /** How many imports before the last `updated_since` lies; null without it. */
  readonly sinceLast: number | null;
  readonly limit: number;
}

const q = fc.constantFrom(...'road r bri bridges ecole a asph strasse x nothing *'.split(' '), 'supply as');
const sometimes = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { freq: 1 });
const FILTERS = {
  suppliers: {
    ...{ q, state: fc.constantFrom('PA', 'OH', 'MD'), certifications: fc.constantFrom('MBE', 'ISO') },
    city_service: fc.constantFrom(...SERVICES),
  },
  contracts: {
    ...{ q, lead_entity: fc.constantFrom(...LEAD_ENTITIES), coop: fc.constantFrom(...COOPS) },
    supplier: fc.nat(MAX_RECORDS - 1).map((nth) => idOf('sup', nth)),
    city_service: fc.constantFrom(...SERVICES),
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
    .map((all) => {
      const given = Object.entries(all).filter(([, value]) => value !== null);
      return Object.fromEntries(given.slice(0, 2)) as Filters;
    });
  return fc.record({
    ...{ kind: fc.constant(kind), scope: fc.nat(scopes - 1), filters },
    sinceLast: fc.option(fc.nat(2), { freq: 2 }),
    limit: fc.constantFrom(1, 3, 7, 50),
  });
}

import fc from 'fast-check';
import type { Kind } from '../../src/kinds.ts';
import type { Filters } from './filters.ts';
import type { Model } from './model.ts';
import { freeText } from './search-texts.ts';

const UNKNOWN_IDS = [
  'nothing_here',
  '%',
  '*',
  "' or 1=1 --",
  'gen_',
  'é',
  '🏗',
  '\\',
  '__proto__',
  '0',
  'x'.repeat(300),
];

const NIGP_LENGTHS = [3, 5, 7, 11];

/**
 * Filters that match a record more often than not, so that combinations are not all empty: each value comes from one
 * record, or occasionally from anywhere.
 */
export function filtersAbout({ records }: Model, timestamps: readonly string[]): Record<Kind, fc.Arbitrary<Filters>> {
  const anyLeadEntity = idOf(records.leadEntities);
  const anyCoop = idOf(records.coops);
  const anySupplier = idOf(records.suppliers);
  const anyCityService = idOf(records.cityServices);
  const anyCertification = fc.constantFrom(
    ...[...records.certifications.values()].flatMap(({ abbreviation, name }) => [abbreviation, name]),
  );
  const updatedSince = written(aroundEach([...timestamps, '1970-01-01T00:00:00.000Z']));

  return {
    contracts: oneOf(records.contracts).chain((contract) =>
      filters({
        q: freeText([contract.name, contract.summary, contract.description]),
        lead_entity: several(mostly([contract.lead_entity_id], anyLeadEntity)),
        coop: several(mostly(contract.coop_id === null ? [] : [contract.coop_id], anyCoop)),
        supplier: several(mostly(contract.supplier_ids, anySupplier)),
        city_service: several(mostly(contract.city_service_ids, anyCityService)),
        updated_since: updatedSince,
      }),
    ),
    suppliers: oneOf(records.suppliers).chain((supplier) => {
      const held = supplier.certifications.flatMap((id) => [id, records.certifications.get(id)?.name ?? id]);
      const certification = fc.oneof(
        { weight: 9, arbitrary: mostly(held, anyCertification) },
        { weight: 1, arbitrary: anyCertification.map((text) => ` ${text.toLowerCase()} `) },
        { weight: 1, arbitrary: fc.constantFrom('NOPE', 'Fire, Nope', '%', 'M', 'ISO') },
      );
      const based = /[A-Z]{2}$/.exec(supplier.location ?? '') ?? [];
      return filters({
        q: freeText([supplier.name, supplier.short_intro, supplier.about]),
        state: several(
          mostly([...supplier.states_served, ...based], fc.constantFrom('md', 'pA', 'FR', 'ZZ', 'MO', 'NV')),
        ),
        certifications: fc.array(certification, { minLength: 1, maxLength: 3 }).map((list) => list.join(',')),
        city_service: several(mostly(supplier.city_service_ids, anyCityService)),
        updated_since: updatedSince,
      });
    }),
    solicitations: oneOf(records.solicitations).chain((solicitation) => {
      const closing = written(aroundEach([solicitation.close_at ?? '2026-04-15T09:00:00.000Z']));
      return filters({
        q: freeText([solicitation.title, solicitation.reference_number, solicitation.description]),
        status: several(fc.constantFrom('open', 'closed', 'awarded', 'cancelled')),
        lead_entity: several(mostly([solicitation.lead_entity_id], anyLeadEntity)),
        nigp: several(
          mostly(
            solicitation.nigp_codes.flatMap(({ code }) => NIGP_LENGTHS.map((length) => code.slice(0, length))),
            fc.constantFrom('914', '91438', '9143827', '000', '999', '00000', '91438270001'),
          ),
        ),
        is_open: fc.constantFrom('true', 'false'),
        closing_after: closing,
        closing_before: closing,
        updated_since: updatedSince,
      });
    }),
    certifications: oneOf(records.certifications).chain(({ name, abbreviation }) =>
      filters({ q: freeText([name, abbreviation]), type: fc.constantFrom('sbe', 'technical') }),
    ),
    'lead-entities': nameOf(records.leadEntities),
    coops: nameOf(records.coops),
    'city-services': nameOf(records.cityServices),
  };
}

/** An id of one of these records, or an unknown one. */
export function idOf(records: ReadonlyMap<string, unknown>): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...records.keys()) },
    { weight: 1, arbitrary: fc.constantFrom(...UNKNOWN_IDS) },
  );
}

function oneOf<T>(records: ReadonlyMap<string, T>): fc.Arbitrary<T> {
  return fc.constantFrom(...records.values());
}

function nameOf(records: ReadonlyMap<string, { name: string }>): fc.Arbitrary<Filters> {
  return oneOf(records).chain(({ name }) => filters({ q: freeText([name]) }));
}

function mostly(values: readonly string[], any: fc.Arbitrary<string>): fc.Arbitrary<string> {
  if (values.length === 0) return any;
  return fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...values) }, { weight: 1, arbitrary: any });
}

/** One value, or a few of which any matches, sometimes the same twice. */
function several(value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 2, arbitrary: value },
    {
      weight: 1,
      arbitrary: fc.array(value, { minLength: 2, maxLength: 5 }).map((values) => values.join(',')),
    },
  );
}

/** Each parameter is present in 40% of requests. */
function filters(parameters: Record<string, fc.Arbitrary<string>>): fc.Arbitrary<Filters> {
  const sometimes = Object.entries(parameters).map(([name, value]) =>
    fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 2, arbitrary: value.map((text) => [name, text]) }),
  );
  return fc.tuple(...sometimes).map((pairs) => Object.fromEntries(pairs.filter((pair) => pair !== null)) as Filters);
}

function aroundEach(timestamps: readonly string[]): fc.Arbitrary<number> {
  return fc
    .tuple(fc.constantFrom(...timestamps), fc.constantFrom(-31_536_000_000, -1, 0, 0, 1, 2, 5_000, 5_001, 86_400_000))
    .map(([timestamp, byMs]) => Date.parse(timestamp) + byMs);
}

/** Timestamps in the notations that clients use. */
function written(epochMs: fc.Arbitrary<number>): fc.Arbitrary<string> {
  const shifted = (ms: number, hours: number): string => new Date(ms + hours * 3_600_000).toISOString();
  const write: ((ms: number) => string)[] = [
    (ms) => new Date(ms).toISOString(),
    (ms) => new Date(ms).toISOString().toLowerCase(),
    (ms) => new Date(ms).toISOString().replace('Z', '999999Z'),
    (ms) => shifted(ms, 5).replace('Z', '+05:00'),
    (ms) => shifted(ms, 2).replace('Z', ' 02:00'),
    (ms) => shifted(ms, -8).replace('Z', '-08:00'),
  ];
  return fc.tuple(epochMs, fc.constantFrom(...write)).map(([ms, form]) => form(ms));
}

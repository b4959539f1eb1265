import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { generatedSolicitation } from './generated-solicitations.ts';
import { awkwardName, awkwardText, either, idsOf, maybe, someOf, state } from './generated-values.ts';

type GeneratedRecord = Record<string, unknown>;

/** Records in the import format, by file name without `.ndjson`. */
export type GeneratedRecords = Record<string, GeneratedRecord[]>;

/** Ids of already published records for generated contracts and solicitations to reference too. */
export interface Published {
  leadEntities?: readonly string[];
  coops?: readonly string[];
  suppliers?: readonly string[];
  cityServices?: readonly string[];
}

const SIZES = { leadEntities: 8, coops: 4, cityServices: 12, suppliers: 150, contracts: 160, solicitations: 220 };

/** Names with commas, a prefix and a suffix of another name, and an order that differs from UTF-16's. */
const TECHNICAL: readonly [abbreviation: string, name: string][] = [
  ['FIRE', 'Fire'],
  ['FIRE-S', 'Fire, Safety'],
  ['FIRE-SR', 'Fire, Safety, Rescue'],
  ['rescue', 'Rescue'],
  ['ISO 9001', 'Quality management systems, requirements'],
  ['a-weld', 'Welding “structural”, AWS D1.1'],
  ['Z-weld', 'Welding, underwater (100% tested)'],
  ['ÉLEC', 'Électricité, haute tension'],
  ['\u{FF21}SCII', 'Full-width 電気'],
  ['\u{1F6E0}', 'Toolmaker'],
  ['T_10', 'Tank_cleaning \\ confined space'],
  ["O'N", "O'Neill's rating"],
];
const SBE: readonly [abbreviation: string, name: string][] = [
  ['G-MBE', 'Minority Business, generated'],
  ['G-WBE', 'Women’s Business, generated'],
  ['G-VET', 'Veterans, disabled, generated'],
  ['g-sbe', 'Small Business'],
  ['G-LGBT', 'LGBT Business'],
  ['G-HUB', 'Hub (zone)'],
  ['G-8A', '8(a), generated'],
  ['G-DBE', 'Disadvantaged Business, generated'],
];

/**
 * Generates what no real source has: intents to bid, template documents, logos, technical certifications, drafts,
 * notices and questions, deadlines on both sides of 2026-04-15, and text in many scripts. The same seed gives the same
 * records. All ids begin with `gen_`.
 */
export function generatedRecords(seed: number, published: Published = {}): GeneratedRecords {
  const leadEntities = idsOf('le', SIZES.leadEntities);
  const coops = idsOf('co', SIZES.coops);
  const cityServices = idsOf('cs', SIZES.cityServices);
  const suppliers = idsOf('sup', SIZES.suppliers);
  const certifications = [
    ...SBE.map(([abbreviation, name]) => ({ abbreviation, name, type: 'sbe' })),
    ...TECHNICAL.map(([abbreviation, name]) => ({ abbreviation, name, type: 'technical' })),
  ];
  // The last 30 suppliers are on no contract.
  const contracted = [...suppliers.slice(0, -30), ...(published.suppliers ?? [])];
  const supplier = generatedSupplier(
    certifications.map(({ abbreviation }) => abbreviation),
    [...cityServices, ...(published.cityServices ?? [])],
  );
  const contract = generatedContract({
    leadEntities: [...leadEntities, ...(published.leadEntities ?? [])],
    coops: [...coops, ...(published.coops ?? [])],
    suppliers: contracted,
    cityServices,
  });
  const solicitation = generatedSolicitation([...leadEntities, ...(published.leadEntities ?? [])]);

  const draw = <T>(kind: number, arbitrary: fc.Arbitrary<T>, numRuns: number): T[] =>
    fc.sample(fc.noBias(arbitrary), { seed: seed * 10 + kind, numRuns });
  const withIds = (ids: readonly string[], records: GeneratedRecord[]): GeneratedRecord[] =>
    records.map((record, index) => ({ id: ids[index], ...record }));
  const solicitations = draw(5, solicitation, SIZES.solicitations).map((record, index) => ({
    ref: 9_007_199_254_740_991 - index * 1_000_003,
    ...record,
  }));
  return {
    'lead-entities': withIds(leadEntities, draw(1, named, leadEntities.length)),
    coops: withIds(coops, draw(2, named, coops.length)),
    'city-services': withIds(cityServices, draw(3, named, cityServices.length)),
    certifications,
    suppliers: withIds(suppliers, draw(4, supplier, suppliers.length)),
    contracts: withIds(idsOf('ctr', SIZES.contracts), draw(6, contract, SIZES.contracts)),
    solicitations: withIds(idsOf('sol', SIZES.solicitations), solicitations),
  };
}

/** Writes records as a directory in the import format. */
export function writeRecords(directory: string, records: GeneratedRecords): void {
  mkdirSync(directory, { recursive: true });
  for (const [name, ofKind] of Object.entries(records)) {
    const lines = ofKind.map((record) => `${JSON.stringify(record)}\n`);
    writeFileSync(join(directory, `${name}.ndjson`), lines.join(''));
  }
}

const named = fc.record({ name: awkwardName });

function generatedSupplier(certifications: string[], cityServices: string[]): fc.Arbitrary<GeneratedRecord> {
  const location = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(awkwardName, state).map(([city, code]) => `${city.trim()}, ${code}`) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        'Paris, FR',
        'Online',
        'Baltimore, md',
        'St. Louis, Mo, MO',
        'Reno,NV',
        ' , TX',
        'Lima, ZZ',
        '',
      ),
    },
  );
  return maybe(
    { name: awkwardName },
    {
      short_intro: either(awkwardText),
      about: either(awkwardText),
      states_served: someOf([...new Set(fc.sample(state, { seed: 1, numRuns: 40 }))], 6),
      certifications: fc.oneof(someOf(certifications, 3), someOf(certifications, certifications.length)),
      city_service_ids: someOf(cityServices, 4),
      location: either(location),
      logo: either(fc.constantFrom('https://example.com/logo.png', 'logos/a "b".svg')),
      email: either(fc.constant('<EMAIL>')),
      website: either(fc.constantFrom('https://example.com/?a=1&b=<2>', '')),
      updated_at: fc.constant('2020-01-01T00:00:00Z'),
    },
  );
}

function generatedContract(ids: Required<Published>): fc.Arbitrary<GeneratedRecord> {
  return maybe(
    { name: awkwardName, lead_entity_id: fc.constantFrom(...ids.leadEntities) },
    {
      summary: either(awkwardText),
      description: either(awkwardText),
      coop_id: either(fc.constantFrom(...ids.coops)),
      supplier_ids: fc.oneof(someOf(ids.suppliers, 3), someOf(ids.suppliers, 15)),
      city_service_ids: someOf(ids.cityServices, 5),
    },
  );
}

import { Random } from '../../../bench/dataset/random.ts';
import { TextWriter } from '../../../bench/dataset/text.ts';
import { WordSource } from '../../../bench/dataset/vocabulary.ts';

/** Records in the import format, by file name without `.ndjson`. */
type Catalog = Record<string, Record<string, unknown>[]>;

const SIZES = {
  leadEntities: 400,
  coops: 12,
  cityServices: 40,
  suppliers: 3_000,
  contracts: 28_200,
  solicitations: 25_000,
};

const SEED = 20_261;

/** Filter values that match very many records, few, and none. */
export const SKEWED = {
  /** Owns 60% of solicitations and contracts, which come first in order of id. */
  largestLeadEntity: idOf('le', 0),
  /** Owns about 25 solicitations. */
  smallLeadEntity: idOf('le', 300),
  /** Owns about as many, and is granted to no partner. */
  ungrantedLeadEntity: idOf('le', 399),
  /** 341 grants, together with `grantedCoops`. */
  grantedLeadEntities: Array.from({ length: 331 }, (_, index) => idOf('le', index)),
  grantedCoops: Array.from({ length: 10 }, (_, index) => idOf('co', index)),
  /** On about one contract in eight. */
  commonCoop: idOf('co', 0),
  /** On every third contract, 9,400 in all. */
  commonSupplier: idOf('sup', 0),
  /** On about twenty contracts. */
  rareSupplier: idOf('sup', 2_000),
  /** On every third contract and supplier. */
  commonCityService: idOf('cs', 0),
  /** In 70% of texts. */
  commonWord: 'procurement',
  /** In 25 texts of each kind. */
  rareWord: 'zeppelin',
  /** Each in 30% of texts, both in about one of 1,000. */
  twoWords: 'northern southern',
  /** A short prefix of very many words. */
  shortPrefix: 'co',
  /** Begins a different number in each solicitation. */
  sequentialPrefix: '2024',
  /** On every third solicitation, as one of the codes below it. */
  commonNigp: '072',
  commonState: 'TX',
  rareState: 'GU',
  commonCertifications: 'MBE,ISO',
  rareCertification: 'RARE',
} as const;

/**
 * A catalog with extremely uneven owners, suppliers and words, on which statements that are fast on average become
 * slow. The same on every machine.
 */
export function skewedCatalog(): Catalog {
  const random = new Random(SEED);
  const text = new TextWriter(random, new WordSource());
  const named = (kind: string, count: number): Record<string, unknown>[] =>
    Array.from({ length: count }, (_, index) => ({ id: idOf(kind, index), name: text.title(2, 4) }));
  return {
    'lead-entities': named('le', SIZES.leadEntities),
    coops: named('co', SIZES.coops),
    'city-services': named('cs', SIZES.cityServices),
    certifications: [
      ...['MBE', 'WBE', 'RARE'].map((abbreviation) => ({ abbreviation, name: `Of ${abbreviation}`, type: 'sbe' })),
      { abbreviation: 'ISO', name: 'Quality, certified', type: 'technical' },
    ],
    suppliers: Array.from({ length: SIZES.suppliers }, (_, index) => ({
      id: idOf('sup', index),
      name: text.title(2, 4),
      about: describe(index, SIZES.suppliers, text, random),
      states_served: statesOf(index, random),
      certifications: certificationsOf(index, random),
      city_service_ids: servicesOf(index, random),
    })),
    contracts: Array.from({ length: SIZES.contracts }, (_, index) => ({
      id: idOf('ctr', index),
      name: text.title(2, 6),
      description: describe(index, SIZES.contracts, text, random),
      lead_entity_id: ownerOf(index, SIZES.contracts, random),
      coop_id: random.chance(0.2) ? idOf('co', random.chance(0.6) ? 0 : random.integer(0, SIZES.coops - 1)) : null,
      supplier_ids: [
        ...(index % 3 === 0 ? [SKEWED.commonSupplier] : []),
        ...random.distinct(random.integer(1, 3), () => idOf('sup', random.integer(1, SIZES.suppliers - 1))),
      ],
      city_service_ids: servicesOf(index, random),
    })),
    solicitations: Array.from({ length: SIZES.solicitations }, (_, index) => ({
      id: idOf('sol', index),
      ref: index + 1,
      reference_number: `RFP-${SKEWED.sequentialPrefix}${String(index).padStart(6, '0')}`,
      title: text.title(3, 8),
      status: statusOf(random),
      lead_entity_id: ownerOf(index, SIZES.solicitations, random),
      description: describe(index, SIZES.solicitations, text, random),
      require_intent_registration: false,
      nigp_codes: index % 3 === 0 ? [{ code: `07${200 + (index % 90)}`, description: '' }] : [],
      created_at: '2020-01-01T00:00:00Z',
      close_at: random.chance(0.06) ? null : new Date(momentOf(random.fraction())).toISOString(),
    })),
  };
}

/** Every `step`th record of a catalog with a changed name or title, to import again. */
export function renamed(catalog: Catalog, step: number): Catalog {
  const every = (kind: string, field: string): Record<string, unknown>[] =>
    (catalog[kind] ?? [])
      .filter((_, index) => index % step === step - 1)
      .map((record) => ({ ...record, [field]: `${String(record[field])} ${step}` }));
  return {
    suppliers: every('suppliers', 'name'),
    contracts: every('contracts', 'name'),
    solicitations: every('solicitations', 'title'),
  };
}

function idOf(kind: string, index: number): string {
  return `${kind}_${String(index).padStart(5, '0')}`;
}

/** The largest owner's records come first, so pages of other partners must skip all of them. */
function ownerOf(index: number, records: number, random: Random): string {
  return index < records * 0.6 ? SKEWED.largestLeadEntity : idOf('le', random.integer(1, SIZES.leadEntities - 1));
}

function servicesOf(index: number, random: Random): string[] {
  const one = idOf('cs', random.integer(1, SIZES.cityServices - 1));
  return index % 3 === 1 ? [SKEWED.commonCityService, one] : [one];
}

function statesOf(index: number, random: Random): string[] {
  if (index % 500 === 499) return ['GU'];
  return random.chance(0.6) ? ['TX', 'OK'] : ['NY'];
}

function certificationsOf(index: number, random: Random): string[] {
  if (index % 500 === 498) return ['RARE'];
  return random.chance(0.4) ? ['ISO', 'MBE'] : ['WBE'];
}

function sideWords(side: number): string {
  if (side < 0.3) return 'Northern.';
  if (side < 0.6) return 'Southern.';
  return side < 0.601 ? 'Northern southern.' : '';
}

function describe(index: number, records: number, text: TextWriter, random: Random): string {
  const side = random.fraction();
  const words = [
    text.sentences(random.integer(8, 25)),
    random.chance(0.7) ? 'Procurement.' : '',
    sideWords(side),
    index % Math.floor(records / 25) === 0 ? 'Zeppelin.' : '',
  ];
  return words.filter((word) => word !== '').join(' ');
}

function statusOf(random: Random): string {
  const draw = random.fraction();
  if (draw < 0.02) return 'draft';
  if (draw < 0.03) return 'cancelled';
  if (draw < 0.4) return 'open';
  return draw < 0.7 ? 'closed' : 'awarded';
}

const FIRST_DEADLINE = Date.parse('2020-01-01T00:00:00Z');
const LAST_DEADLINE = Date.parse('2028-01-01T00:00:00Z');

function momentOf(fraction: number): number {
  return FIRST_DEADLINE + Math.floor(fraction * (LAST_DEADLINE - FIRST_DEADLINE));
}

import fc from 'fast-check';
import { awkwardName, awkwardText, either, maybe, someOf, state } from '../support/records/generated-values.ts';

export type CatalogRecord = Record<string, unknown>;

/** Records of every kind, by file name without `.ndjson`. */
export type Catalog = Readonly<Record<string, CatalogRecord[]>>;

/** Valid ids that collide with the properties of a plain object. */
const ID_POOL = [
  'a',
  '0',
  '-',
  '_',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'valueOf',
  'x'.repeat(64),
];

const timestamp = fc.oneof(
  fc
    .date({ min: new Date('1900-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
    .map((date) => date.toISOString()),
  fc.constantFrom(
    '0000-01-01T00:00:00Z',
    '9999-12-31T23:59:59.999Z',
    '2026-04-15t09:00:00.123456789z',
    '2026-04-15T09:00:00+14:00',
  ),
);

const whole = fc.oneof(fc.integer({ min: 0, max: 1_000 }), fc.constantFrom(Number.MAX_SAFE_INTEGER, 2 ** 31, 2 ** 32));

/** Ids of a kind: some of the pool, each with or without the kind as prefix. */
const idsOf = (kind: string, max: number): fc.Arbitrary<string[]> =>
  fc.subarray([...ID_POOL, ...ID_POOL.map((id) => `${kind}_${id}`.slice(0, 64))], { minLength: 1, maxLength: max });

const named = (id: string): fc.Arbitrary<CatalogRecord> => fc.record({ id: fc.constant(id), name: awkwardName });

const all = <T>(ids: readonly string[], make: (id: string, index: number) => fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.tuple(...ids.map(make));

/** Elements of a list within a solicitation, with unique ids. */
function elements(
  required: Record<string, fc.Arbitrary<unknown>>,
  optional: Record<string, fc.Arbitrary<unknown>> = {},
) {
  return fc
    .array(maybe(required, optional), { maxLength: 3 })
    .map((list) => list.map((element, index) => ({ id: index, ...element })));
}

function solicitation(id: string, ref: number, leadEntities: readonly string[]): fc.Arbitrary<CatalogRecord> {
  return maybe(
    {
      ...{
        id: fc.constant(`s${id}`.slice(0, 64)),
        ref: fc.constant(ref),
        reference_number: awkwardName,
        title: awkwardName,
      },
      ...{
        status: fc.constantFrom('draft', 'open', 'closed', 'awarded', 'cancelled'),
        lead_entity_id: fc.constantFrom(...leadEntities),
      },
      ...{ require_intent_registration: fc.boolean(), created_at: timestamp },
    },
    {
      ...{ issuing_organization: either(awkwardText), description: either(awkwardText), updated_at: timestamp },
      ...{ open_at: either(timestamp), close_at: either(timestamp), questions_due_at: either(timestamp) },
      intent_to_bid_due_at: either(timestamp),
      nigp_codes: fc.array(
        fc.record({ code: fc.constantFrom('913', '91300', '9130000', '91300000000'), description: awkwardText }),
        { maxLength: 2 },
      ),
      documents: elements(
        { name: awkwardName },
        { description: either(awkwardText), file_type: either(awkwardText), file_size: either(whole) },
      ),
      requested_items: elements(
        { name: awkwardName, required: fc.boolean(), allows_multiple: fc.boolean() },
        { file_type: either(awkwardText), instructions: either(awkwardText) },
      ),
      notices: elements({ title: awkwardName, body: awkwardText, created_at: timestamp }),
      questions: elements(
        { title: awkwardName, body: awkwardText, created_at: timestamp },
        { answer: either(awkwardText), answered_at: either(timestamp) },
      ),
    },
  );
}

/** Small catalogs with references between all kinds. Ids come from a small pool, so that imports overlap. */
export const catalogs: fc.Arbitrary<Catalog> = fc
  .record({
    leadEntities: idsOf('le', 3),
    coops: idsOf('co', 2),
    services: idsOf('cs', 3),
    certifications: idsOf('ce', 3),
    suppliers: idsOf('su', 4),
    contracts: idsOf('ct', 4),
    solicitations: idsOf('so', 4),
  })
  .chain((ids) =>
    fc.record({
      'lead-entities': all(ids.leadEntities, named),
      coops: all(ids.coops, named),
      'city-services': all(ids.services, named),
      // Names of certifications are unique, also across imports.
      certifications: all(ids.certifications, (id) =>
        fc.constantFrom('sbe', 'technical').map((type) => ({ abbreviation: id, name: `Name of ${id}`, type })),
      ),
      suppliers: all(ids.suppliers, (id) =>
        maybe(
          { id: fc.constant(id), name: awkwardName },
          {
            ...{
              short_intro: either(awkwardText),
              about: either(awkwardText),
              location: either(awkwardText),
              logo: either(awkwardText),
            },
            ...{ email: either(awkwardText), website: either(awkwardText), updated_at: timestamp },
            states_served: fc.uniqueArray(state, { maxLength: 3 }),
            certifications: someOf(ids.certifications, 3),
            city_service_ids: someOf(ids.services, 3),
          },
        ),
      ),
      contracts: all(ids.contracts, (id) =>
        maybe(
          { id: fc.constant(id), name: awkwardName, lead_entity_id: fc.constantFrom(...ids.leadEntities) },
          {
            ...{ summary: either(awkwardText), description: either(awkwardText), updated_at: timestamp },
            coop_id: either(fc.constantFrom(...ids.coops)),
            supplier_ids: someOf(ids.suppliers, 3),
            city_service_ids: someOf(ids.services, 3),
          },
        ),
      ),
      // A ref belongs to its id forever.
      solicitations: all(ids.solicitations, (id) => solicitation(id, refOf(id), ids.leadEntities)),
    }),
  );

function refOf(id: string): number {
  const index = ID_POOL.findIndex((known) => id === known || id === `so_${known}`.slice(0, 64));
  return 1 + 2 * index + (id.startsWith('so_') ? 1 : 0);
}

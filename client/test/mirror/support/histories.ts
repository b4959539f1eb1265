import fc from 'fast-check';
import type { Grants } from '../../../../src/access/grant-admin.ts';
import { contract, solicitation, supplier, type ImportLines } from '../../../../test/support/publishing.ts';

/** An event during a sync. */
export type During =
  | { readonly type: 'kill-mirror' | 'cut' }
  | { readonly type: 'kill-service' }
  | { readonly type: 'import'; readonly lines: ImportLines };

export type Step =
  | { readonly type: 'import'; readonly lines: ImportLines }
  | { readonly type: 'grant' | 'revoke'; readonly grants: Grants }
  | {
      readonly type: 'sync';
      readonly during: {
        /** 0 for the first request of the sync. */
        readonly atRequest: number;
        readonly moment: 'before' | 'during';
        readonly event: During;
      } | null;
    };

const LEAD_ENTITIES = ['le_0', 'le_1', 'le_2'];
const COOPS = ['co_0', 'co_1'];
const SUPPLIERS = Array.from({ length: 8 }, (_, i) => `sup_${i}`);
const CONTRACTS = Array.from({ length: 10 }, (_, i) => `ctr_${i}`);

const leadEntity = fc.constantFrom(...LEAD_ENTITIES);
/** Includes U+2028 and U+2029, line separators that JSON does not escape. */
const text = fc.constantFrom('alpha', 'beta', 'gamma', 'lines \u2028 and \u2029', 'Ünïcode \u{1F6E0}', '"quoted"\\');

const number = fc.nat({ max: 13 });
const title = fc.record({ title: text, description: fc.option(text) });
const entry = fc.record({ id: fc.nat({ max: 3 }), title: text, body: text });
const CREATED = { created_at: '2026-01-01T00:00:00.000Z' };

const someSolicitation = fc
  .record({
    number,
    title,
    lead_entity_id: leadEntity,
    status: fc.constantFrom('open', 'open', 'open', 'draft', 'closed', 'awarded'),
    close_at: fc.constantFrom(null, '2020-01-01T00:00:00.000Z', '2099-01-01T00:00:00.000Z'),
    notices: fc.uniqueArray(entry, { maxLength: 2, selector: ({ id }) => id }),
    questions: fc.uniqueArray(entry, { maxLength: 1, selector: ({ id }) => id }),
    documents: fc.uniqueArray(fc.record({ id: fc.nat({ max: 3 }), name: text }), {
      maxLength: 1,
      selector: ({ id }) => id,
    }),
  })
  .map(({ number: ref, title: fields, notices, questions, ...others }) => ({
    ...solicitation(`sol_${ref}`, ref + 1),
    ...fields,
    ...others,
    notices: notices.map((notice) => ({ ...notice, ...CREATED })),
    questions: questions.map((question) => ({ ...question, ...CREATED })),
  }));

const someContract = fc
  .record({
    id: fc.constantFrom(...CONTRACTS),
    name: text,
    lead_entity_id: leadEntity,
    coop_id: fc.constantFrom(null, ...COOPS),
    supplier_ids: fc.uniqueArray(fc.constantFrom(...SUPPLIERS), { maxLength: 3 }),
  })
  .map((fields) => ({ ...contract(fields.id), ...fields, city_service_ids: [] }));

const someSupplier = fc
  .record({ id: fc.constantFrom(...SUPPLIERS), name: text })
  .map((fields) => ({ ...supplier(fields.id), ...fields, city_service_ids: [] }));

const named = (ids: readonly string[]) => fc.record({ id: fc.constantFrom(...ids), name: text });
const removed = (ids: readonly string[]) => fc.constantFrom(...ids).map((id) => ({ id, deleted: true }));
const certification = fc
  .constantFrom('MBE', '\u{FF21}', '\u{1F6E0}')
  .map((abbreviation) => ({ abbreviation, name: `Name of ${abbreviation}`, type: 'sbe' }));

const few = <T extends { id: string }>(...records: fc.Arbitrary<T>[]) =>
  fc.uniqueArray(fc.oneof(...records), { maxLength: 5, selector: ({ id }) => id });

const lines: fc.Arbitrary<ImportLines> = fc.oneof(
  fc.record({
    solicitations: few<{ id: string }>(
      someSolicitation,
      removed(Array.from({ length: 14 }, (_, index) => `sol_${index}`)),
    ),
  }),
  fc.record({ contracts: few<{ id: string }>(someContract, removed(CONTRACTS)) }),
  fc.record({ suppliers: few<{ id: string }>(someSupplier, removed(SUPPLIERS)) }),
  fc.record({ 'lead-entities': few(named(LEAD_ENTITIES)), coops: few(named(COOPS)) }),
  fc.record({ certifications: fc.uniqueArray(certification, { selector: ({ abbreviation }) => abbreviation }) }),
  fc.record({ suppliers: few(someSupplier), contracts: few(someContract), solicitations: few(someSolicitation) }),
);

const grants = fc.record({
  everything: fc.constant(false),
  leadEntities: fc.uniqueArray(leadEntity, { minLength: 1, maxLength: 2 }),
  coops: fc.uniqueArray(fc.constantFrom(...COOPS), { maxLength: 1 }),
});

const during = fc.record({
  atRequest: fc.nat({ max: 16 }),
  moment: fc.constantFrom('before', 'during'),
  event: fc.oneof(
    { weight: 3, arbitrary: fc.record({ type: fc.constant('kill-mirror' as const) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('cut' as const) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('kill-service' as const) }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('import' as const), lines }) },
  ),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('import' as const), lines }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constantFrom('grant' as const, 'revoke' as const), grants }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('sync' as const),
      during: fc.option(during as fc.Arbitrary<NonNullable<Extract<Step, { type: 'sync' }>['during']>>, { freq: 2 }),
    }),
  },
);

/** An arbitrary sequence of changes to a service and syncs of its mirror. */
export const history = fc.array(step, { minLength: 8, maxLength: 14, size: 'max' });

/** The initial catalog: everything that a change can reference, and enough records for several pieces. */
export function firstCatalog(): ImportLines {
  return {
    'lead-entities': LEAD_ENTITIES.map((id) => ({ id, name: id })),
    coops: COOPS.map((id) => ({ id, name: id })),
    'city-services': [{ id: 'cs_1', name: 'Paving' }],
    certifications: [
      { abbreviation: 'MBE', name: 'Minority', type: 'sbe' },
      { abbreviation: 'ISO', name: 'Quality', type: 'technical' },
    ],
    suppliers: SUPPLIERS.map((id) => supplier(id)),
    contracts: CONTRACTS.map((id, index) => ({
      ...contract(id),
      lead_entity_id: LEAD_ENTITIES[index % 3],
      coop_id: COOPS[index % 2],
      supplier_ids: [SUPPLIERS[index % 8]],
    })),
    solicitations: Array.from({ length: 14 }, (_, index) => ({
      ...solicitation(`sol_${index}`, index + 1),
      lead_entity_id: LEAD_ENTITIES[index % 3],
      status: index % 4 === 0 ? 'closed' : 'open',
      close_at: index % 2 === 0 ? '2099-01-01T00:00:00.000Z' : '2020-01-01T00:00:00.000Z',
    })),
  };
}

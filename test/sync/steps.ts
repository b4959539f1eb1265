import fc from 'fast-check';
import type { Filters } from '../model/model.ts';
import { COOPS, editsOf, LEAD_ENTITIES, weighted } from '../support/records/edited-lines.ts';
import { KINDS } from './copy.ts';

/** The servers that share the database. None polls, so each knows what it has last noticed. */
export const PROCESSES = 3;
const IDS = [0, 1, 2, 3];

const type = <const T extends string>(...types: T[]) => ({ type: fc.constantFrom(...types) });
const nth = fc.constantFrom(...IDS);
const edit = editsOf({
  ...{ count: IDS.length, suppliers: fc.subarray(IDS) },
  text: fc.nat({ max: 3 }).map((number) => `text ${number}`),
});
const change = fc.oneof(
  weighted(6, fc.record({ ...type('import'), edits: fc.array(edit, { minLength: 1, maxLength: 3 }), isWhole: fc.boolean() })),
  weighted(4, fc.record({ ...type('grant or revoke'), leadEntities: fc.subarray(LEAD_ENTITIES, { minLength: 1, maxLength: 2 }), coops: fc.subarray(COOPS, { maxLength: 1 }) })),
  weighted(2, fc.record(type('grant or revoke everything', 'restrict or lift kinds', 'suspend or resume'))),
  weighted(1, fc.record(type('prune', 'recover', 'roll back', 'replace the key'))),
); // prettier-ignore

/** The filters that lists and counts are requested with. */
const FILTERS: Record<(typeof KINDS)[number], readonly Filters[]> = {
  contracts: [{}, { lead_entity: 'le_a' }, { coop: 'co_x,co_y' }, { supplier: 'sup_0' }, { q: 'text 1' }],
  suppliers: [{}, { state: 'PA' }, { q: 'supplier 2' }, { certifications: 'MBE' }],
  solicitations: [{}, { lead_entity: 'le_b,le_c' }, { status: 'open' }, { is_open: 'false' }, { nigp: '913' }],
};
const process = fc.nat({ max: PROCESSES - 1 });
const kind = fc.constantFrom(...KINDS);
const filtered = kind.chain((one) => fc.record({ kind: fc.constant(one), filters: fc.constantFrom(...FILTERS[one]) }));
const named = fc.record({
  kind: fc.constantFrom('lead-entities' as const, 'coops' as const),
  filters: fc.constant<Filters>({}),
});
const format = fc.constantFrom('json' as const, 'ndjson' as const);
const limit = fc.constantFrom(1, 1, 2, 3, 100);
const request = fc.oneof(
  weighted(5, fc.record({ ...type('read'), process, limit: fc.option(limit, { nil: undefined }), format })),
  // The next page of a sync: each kind has one, which begins again when it has ended.
  weighted(6, fc.record({ ...type('page'), process, kind, limit })),
  weighted(2, fc.record({ ...type('list'), process, of: fc.oneof(filtered, named), format })),
  weighted(1, fc.record({ ...type('count'), process, of: filtered })),
  weighted(2, fc.record({ ...type('record'), process, kind, nth })),
  weighted(1, fc.record({ ...type('notice'), process })),
); // prettier-ignore

/** Changes by an operator and requests by a partner to any of the processes, in any order. */
export const histories = fc.array(fc.oneof(weighted(1, change), weighted(3, request)), {
  ...{ minLength: 10, maxLength: 60, size: 'max' },
});

/** The same behind a replica, which stops now and then. */
export const historiesBehindReplica = fc.array(
  fc.oneof(
    weighted(2, change),
    weighted(6, request),
    weighted(2, fc.record({ ...type('notice'), process })),
    weighted(1, fc.record(type('pause or resume the replica'))),
  ),
  { minLength: 10, maxLength: 60, size: 'max' },
);
export type Step = typeof historiesBehindReplica extends fc.Arbitrary<readonly (infer S)[]> ? S : never;

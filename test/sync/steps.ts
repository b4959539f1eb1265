import fc from 'fast-check';
import type { Filters } from '../model/model.ts';
import { contract, SMALL_CATALOG, solicitation, supplier } from '../support/publishing.ts';
import { KINDS } from './copy.ts';

/** The servers that share the database. None polls, so each knows what it has last noticed. */
export const PROCESSES = 3;
const LEAD_ENTITIES = ['le_a', 'le_b', 'le_c'];
const COOPS = ['co_x', 'co_y'];
const IDS = [0, 1, 2, 3];

type Line<T = object> = Record<string, unknown> & T;

/** The lines of the last import, by id. */
export interface Lines {
  'lead-entities': Map<string, Line>;
  coops: Map<string, Line>;
  'city-services': Map<string, Line>;
  certifications: Map<string, Line>;
  suppliers: Map<string, Line>;
  contracts: Map<string, Line<{ supplier_ids: string[] }>>;
  solicitations: Map<string, Line>;
}

const type = <const T extends string>(...types: T[]) => ({ type: fc.constantFrom(...types) });
const weighted = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });
const nth = fc.constantFrom(...IDS);
const text = fc.nat({ max: 3 });
const leadEntity = fc.constantFrom(...LEAD_ENTITIES);
const edit = fc.oneof(
  weighted(3, fc.record({ ...type('contract'), nth, text, leadEntity, coop: fc.constantFrom(null, ...COOPS), suppliers: fc.subarray(IDS) })),
  weighted(3, fc.record({ ...type('solicitation'), nth, leadEntity, status: fc.constantFrom('draft', 'open', 'open', 'awarded'), notices: text })),
  weighted(2, fc.record({ ...type('supplier'), nth, text })),
  weighted(3, fc.record({ ...type('no contract', 'no solicitation', 'no supplier'), nth })),
  weighted(2, fc.record({ ...type('lead-entities', 'coops', 'city-services', 'certifications'), nth, text })),
); // prettier-ignore
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
export type Step = typeof histories extends fc.Arbitrary<readonly (infer S)[]> ? S : never;
type Edit = Extract<Step, { type: 'import' }>['edits'][number];

const namedLines = (ids: readonly string[]) => new Map(ids.map((id): [string, Line] => [id, { id, name: id }]));

export const startingLines = (): Lines => ({
  'lead-entities': namedLines(LEAD_ENTITIES),
  coops: namedLines(COOPS),
  'city-services': namedLines(['cs_1']),
  certifications: new Map(SMALL_CATALOG.certifications.map((line) => [line.abbreviation, { ...line }])),
  suppliers: new Map([['sup_0', supplier('sup_0')]]),
  contracts: new Map([['ctr_0', { ...contract('ctr_0'), supplier_ids: ['sup_0'] }]]),
  solicitations: new Map([['sol_0', solicitation('sol_0', 1)]]),
});

/** Applies an edit to the lines, and returns them; an edit that would leave a dangling reference drops it. */
export function apply(lines: Lines, step: Edit): Lines {
  const { contracts, solicitations, suppliers } = lines;
  switch (step.type) {
    case 'contract': {
      const id = `ctr_${step.nth}`;
      const supplier_ids = step.suppliers.map((number) => `sup_${number}`).filter((named) => suppliers.has(named));
      const owned = { lead_entity_id: step.leadEntity, coop_id: step.coop, supplier_ids };
      contracts.set(id, { ...contract(id), ...owned, summary: `text ${step.text}` });
      return lines;
    }
    case 'solicitation': {
      const id = `sol_${step.nth}`;
      const notices = Array.from({ length: step.notices }, (_, number) => ({
        ...{ id: number, title: 'Notice', body: '', created_at: '2026-01-01T00:00:00Z' },
      }));
      const owned = { lead_entity_id: step.leadEntity, status: step.status, notices };
      solicitations.set(id, { ...solicitation(id, step.nth + 1), ...owned });
      return lines;
    }
    case 'supplier': {
      const id = `sup_${step.nth}`;
      suppliers.set(id, { ...supplier(id), name: `Supplier ${step.text}` });
      return lines;
    }
    case 'no contract':
      contracts.delete(`ctr_${step.nth}`);
      return lines;
    case 'no solicitation':
      solicitations.delete(`sol_${step.nth}`);
      return lines;
    case 'no supplier': {
      const id = `sup_${step.nth}`;
      suppliers.delete(id);
      for (const line of contracts.values()) line.supplier_ids = line.supplier_ids.filter((named) => named !== id);
      return lines;
    }
    case 'certifications': {
      const line = lines.certifications.get('MBE');
      if (line !== undefined) line['type'] = step.text % 2 === 0 ? 'sbe' : 'technical';
      return lines;
    }
    default: {
      const all = [...lines[step.type].values()];
      const line = all[step.nth % all.length];
      if (line !== undefined) line['name'] = `Name ${step.text}`;
      return lines;
    }
  }
}

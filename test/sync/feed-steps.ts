import fc from 'fast-check';
import type { Kind } from '../../src/kinds.ts';
import { contract, solicitation, supplier } from '../support/publishing.ts';

/** The servers that share the database. None polls, so each knows what it has last noticed. */
export const PROCESSES = 3;
export const LEAD_ENTITIES = ['le_a', 'le_b', 'le_c'];
export const COOPS = ['co_x', 'co_y'];
const IDS = [0, 1, 2, 3];

type Line<T> = Record<string, unknown> & T;

/** The lines of the last import, by id. */
export interface Lines {
  contracts: Map<string, Line<{ lead_entity_id: string; coop_id: string | null; supplier_ids: string[] }>>;
  solicitations: Map<string, Line<{ lead_entity_id: string; status: string }>>;
  suppliers: Map<string, Line<object>>;
}

const process = fc.nat({ max: PROCESSES - 1 });
const nth = fc.constantFrom(...IDS);
const edit = fc.oneof(
  fc.record({
    target: fc.constant('contract' as const),
    nth,
    leadEntity: fc.constantFrom(...LEAD_ENTITIES),
    coop: fc.constantFrom(null, ...COOPS),
    suppliers: fc.subarray(IDS),
    text: fc.nat({ max: 3 }),
  }),
  fc.record({
    target: fc.constant('solicitation' as const),
    nth,
    leadEntity: fc.constantFrom(...LEAD_ENTITIES),
    status: fc.constantFrom('draft', 'open', 'open', 'awarded'),
    notices: fc.nat({ max: 3 }),
  }),
  fc.record({ target: fc.constant('supplier' as const), nth, text: fc.nat({ max: 3 }) }),
  fc.record({ target: fc.constantFrom('no contract', 'no solicitation', 'no supplier' as const), nth }),
);
const change = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('import' as const),
      edits: fc.array(edit, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('grant or revoke' as const),
      leadEntities: fc.subarray(LEAD_ENTITIES, { minLength: 1, maxLength: 2 }),
      coops: fc.subarray(COOPS, { maxLength: 1 }),
    }),
  },
  fc.record({
    type: fc.constantFrom('grant or revoke everything', 'kinds', 'suspend or resume', 'prune', 'recover' as const),
  }),
);
const request = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('read' as const),
      process,
      limit: fc.constantFrom(1, 1, 2, 3, 100, undefined),
      format: fc.constantFrom('json' as const, 'ndjson' as const),
    }),
  },
  fc.record({ type: fc.constant('notice' as const), process }),
);
export const histories = fc.array(fc.oneof({ weight: 2, arbitrary: change }, { weight: 3, arbitrary: request }), {
  minLength: 5,
  maxLength: 40,
});
export type Step = typeof histories extends fc.Arbitrary<readonly (infer S)[]> ? S : never;
type Edit = Extract<Step, { type: 'import' }>['edits'][number];

export function startingLines(): Lines {
  return {
    contracts: new Map([['ctr_0', { ...contract('ctr_0'), supplier_ids: ['sup_0'] }]]),
    solicitations: new Map([['sol_0', solicitation('sol_0', 1)]]),
    suppliers: new Map([['sup_0', supplier('sup_0')]]),
  };
}

/** Applies an edit to the lines; an edit that would leave a dangling reference drops it. */
export function apply(lines: Lines, step: Edit): void {
  const { contracts, solicitations, suppliers } = lines;
  switch (step.target) {
    case 'contract': {
      const id = `ctr_${step.nth}`;
      const named = step.suppliers.map((number) => `sup_${number}`).filter((supplierId) => suppliers.has(supplierId));
      const owned = { lead_entity_id: step.leadEntity, coop_id: step.coop, supplier_ids: named };
      contracts.set(id, { ...contract(id), ...owned, summary: `text ${step.text}` });
      break;
    }
    case 'solicitation': {
      const id = `sol_${step.nth}`;
      const notices = Array.from({ length: step.notices }, (_, number) => ({
        ...{ id: number, title: 'Notice', body: '', created_at: '2026-01-01T00:00:00Z' },
      }));
      solicitations.set(id, {
        ...solicitation(id, step.nth + 1),
        ...{ lead_entity_id: step.leadEntity, status: step.status, notices },
      });
      break;
    }
    case 'supplier': {
      const id = `sup_${step.nth}`;
      suppliers.set(id, { ...supplier(id), name: `Supplier ${step.text}` });
      break;
    }
    case 'no contract':
      contracts.delete(`ctr_${step.nth}`);
      break;
    case 'no solicitation':
      solicitations.delete(`sol_${step.nth}`);
      break;
    case 'no supplier': {
      const id = `sup_${step.nth}`;
      suppliers.delete(id);
      for (const line of contracts.values()) line.supplier_ids = line.supplier_ids.filter((named) => named !== id);
      break;
    }
  }
}

export interface Scope {
  everything: boolean;
  readonly leadEntities: Set<string>;
  readonly coops: Set<string>;
  kinds: readonly Kind[] | null;
  isSuspended: boolean;
}

/** The records that a partner sees, as `kind id`. */
export function visible({ contracts, solicitations, suppliers }: Lines, scope: Scope): Set<string> {
  const isOwned = (line: { lead_entity_id: string; coop_id: string | null }): boolean =>
    scope.leadEntities.has(line.lead_entity_id) || (line.coop_id !== null && scope.coops.has(line.coop_id));
  const owned = [...contracts].filter(([, line]) => isOwned(line));
  const seen = {
    contracts: scope.everything ? [...contracts.keys()] : owned.map(([id]) => id),
    solicitations: [...solicitations]
      .filter(
        ([, line]) => line.status !== 'draft' && (scope.everything || scope.leadEntities.has(line.lead_entity_id)),
      )
      .map(([id]) => id),
    suppliers: scope.everything ? [...suppliers.keys()] : owned.flatMap(([, line]) => line.supplier_ids),
  };
  return new Set(
    (Object.keys(seen) as (keyof typeof seen)[])
      .filter((kind) => scope.kinds?.includes(kind) !== false)
      .flatMap((kind) => seen[kind].map((id) => `${kind} ${id}`)),
  );
}

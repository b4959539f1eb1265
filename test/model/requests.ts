import fc from 'fast-check';
import type { Filters } from './filters.ts';
import type { Model } from './model.ts';
import { filtersAbout, idOf } from './request-filters.ts';
import type { Kind } from '../../src/kinds.ts';

type Counted = 'contracts' | 'suppliers' | 'solicitations';

/** A well-formed request, for records that exist, are hidden from the partner or do not exist. */
export type ModelRequest =
  | { type: 'list'; kind: Kind; filters: Filters; limits: readonly number[] }
  | { type: 'count'; kind: Counted; filters: Filters }
  | { type: 'detail'; kind: Kind; id: string };

/** Arbitrary requests for this model's records; `timestamps` are the timestamps of imports and grants. */
export function requestsAbout(model: Model, timestamps: readonly string[]): fc.Arbitrary<ModelRequest> {
  const { records } = model;
  const filters = filtersAbout(model, timestamps);
  const limits = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 4 });
  const list = (kind: Kind): fc.Arbitrary<ModelRequest> =>
    fc.record({ type: fc.constant('list' as const), kind: fc.constant(kind), filters: filters[kind], limits });
  const detail = (kind: Kind, id: fc.Arbitrary<string>): fc.Arbitrary<ModelRequest> =>
    fc.record({ type: fc.constant('detail' as const), kind: fc.constant(kind), id });
  const refs = [...records.solicitations.values()].map(({ ref }) => String(ref));
  const solicitation = fc.oneof(idOf(records.solicitations), fc.constantFrom(...refs, '99999999999999999999'));
  const count = (kind: Counted): fc.Arbitrary<ModelRequest> =>
    fc.record({ type: fc.constant('count' as const), kind: fc.constant(kind), filters: filters[kind] });

  const request = fc.oneof(
    { weight: 10, arbitrary: list('contracts') },
    { weight: 10, arbitrary: list('suppliers') },
    { weight: 10, arbitrary: list('solicitations') },
    { weight: 3, arbitrary: list('certifications') },
    { weight: 3, arbitrary: list('lead-entities') },
    { weight: 2, arbitrary: list('coops') },
    { weight: 3, arbitrary: list('city-services') },
    { weight: 2, arbitrary: count('contracts') },
    { weight: 2, arbitrary: count('suppliers') },
    { weight: 3, arbitrary: count('solicitations') },
    { weight: 4, arbitrary: detail('contracts', idOf(records.contracts)) },
    { weight: 4, arbitrary: detail('suppliers', idOf(records.suppliers)) },
    { weight: 4, arbitrary: detail('solicitations', solicitation) },
  );
  // With bias, values early in the data and short lists would dominate.
  return fc.noBias(request);
}

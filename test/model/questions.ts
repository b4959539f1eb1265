import fc from 'fast-check';
import type { Kind } from '../../src/access/scope.ts';
import type { Filters } from './filters.ts';
import type { Model } from './model.ts';
import { filtersAbout, idOf } from './question-filters.ts';

/** A well-formed request, for records that exist, are hidden from the partner or do not exist. */
export type Question =
  | { ask: 'list'; kind: Kind; filters: Filters; limits: readonly number[] }
  | { ask: 'count'; filters: Filters }
  | { ask: 'detail'; kind: Kind; id: string };

/** Arbitrary requests for this model's records; `timestamps` are the timestamps of imports and grants. */
export function questionsAbout(model: Model, timestamps: readonly string[]): fc.Arbitrary<Question> {
  const { records } = model;
  const filters = filtersAbout(model, timestamps);
  const limits = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 4 });
  const list = (kind: Kind, asked: fc.Arbitrary<Filters>): fc.Arbitrary<Question> =>
    fc.record({ ask: fc.constant('list' as const), kind: fc.constant(kind), filters: asked, limits });
  const detail = (kind: Kind, id: fc.Arbitrary<string>): fc.Arbitrary<Question> =>
    fc.record({ ask: fc.constant('detail' as const), kind: fc.constant(kind), id });
  const refs = [...records.solicitations.values()].map(({ ref }) => String(ref));
  const solicitation = fc.oneof(idOf(records.solicitations), fc.constantFrom(...refs, '99999999999999999999'));
  const unfiltered = fc.constant({});

  const question = fc.oneof(
    { weight: 10, arbitrary: list('contracts', filters.contracts) },
    { weight: 10, arbitrary: list('suppliers', filters.suppliers) },
    { weight: 10, arbitrary: list('solicitations', filters.solicitations) },
    { weight: 3, arbitrary: list('certifications', filters.certifications) },
    { weight: 1, arbitrary: list('lead-entities', unfiltered) },
    { weight: 1, arbitrary: list('coops', unfiltered) },
    { weight: 1, arbitrary: list('city-services', unfiltered) },
    { weight: 6, arbitrary: fc.record({ ask: fc.constant('count' as const), filters: filters.solicitations }) },
    { weight: 4, arbitrary: detail('contracts', idOf(records.contracts)) },
    { weight: 4, arbitrary: detail('suppliers', idOf(records.suppliers)) },
    { weight: 4, arbitrary: detail('solicitations', solicitation) },
  );
  // With bias, values early in the data and short lists would dominate.
  return fc.noBias(question);
}

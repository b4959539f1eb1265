import fc from 'fast-check';
import { KINDS } from './copy.ts';

/** The servers that share the database. None polls, so each knows what it has last noticed. */
export const PROCESSES = 3;

/** Changes by an operator and requests by a partner to any of the processes, in any order. */
export type Step =
  | { readonly type: 'grant or revoke'; readonly leadEntities: readonly string[]; readonly coops: readonly string[] }
  | { readonly type: 'grant or revoke everything' | 'restrict or lift kinds' | 'suspend or resume' }
  | { readonly type: 'import'; readonly leadEntity: string; readonly coop: string | null; readonly moved: number }
  | { readonly type: 'notice'; readonly process: number }
  /** The next page of a sync: each kind has one, which begins again when it has ended. */
  | { readonly type: 'page'; readonly process: number; readonly kind: (typeof KINDS)[number]; readonly limit: number }
  | { readonly type: 'list'; readonly process: number; readonly kind: (typeof LISTED)[number] }
  | { readonly type: 'count'; readonly process: number }
  | { readonly type: 'record'; readonly process: number; readonly kind: (typeof KINDS)[number]; readonly nth: number };

const LISTED = [...KINDS, 'lead-entities', 'coops'] as const;
export const LEAD_ENTITIES = ['le_a', 'le_b', 'le_c'];
export const COOPS = ['co_x', 'co_y'];

const process = fc.nat({ max: PROCESSES - 1 });
const kind = fc.constantFrom(...KINDS);
const change: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('grant or revoke' as const),
      leadEntities: fc.subarray(LEAD_ENTITIES, { minLength: 1, maxLength: 2 }),
      coops: fc.subarray(COOPS, { maxLength: 1 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('import' as const),
      leadEntity: fc.constantFrom(...LEAD_ENTITIES),
      coop: fc.constantFrom(null, ...COOPS),
      moved: fc.nat({ max: 5 }),
    }),
  },
  fc.record({
    type: fc.constantFrom('grant or revoke everything', 'restrict or lift kinds', 'suspend or resume'),
  }),
);
const request: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('page' as const),
      process,
      kind,
      limit: fc.constantFrom(1, 1, 2, 3, 100),
    }),
  },
  fc.record({ type: fc.constant('list' as const), process, kind: fc.constantFrom(...LISTED) }),
  fc.record({ type: fc.constant('count' as const), process }),
  { weight: 2, arbitrary: fc.record({ type: fc.constant('record' as const), process, kind, nth: fc.nat({ max: 5 }) }) },
  fc.record({ type: fc.constant('notice' as const), process }),
);

/** Changes between any two requests. */
export const histories: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof({ weight: 1, arbitrary: change }, { weight: 3, arbitrary: request }),
  { minLength: 10, maxLength: 40 },
);

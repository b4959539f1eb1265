import fc from 'fast-check';

/* Random steps for the service of `log-world.ts`. */

export const OWNERS = ['a', 'b'] as const;
export const KINDS = ['contracts', 'suppliers'] as const;
export const PARTNERS = 2;
export const COPIES = 2;

export type Owner = (typeof OWNERS)[number];
export type RecordKind = (typeof KINDS)[number];

/** Steps over some partners, owners and records: over one of each, rare sequences are not rare. */
function stepsOver(partners: number, owners: readonly Owner[], ids: readonly number[]) {
  const partner = fc.nat({ max: partners - 1 });
  const owner = fc.constantFrom(...owners);
  const kind = fc.constantFrom(...(ids.length === 1 ? (['contracts'] as const) : KINDS));
  const edit = fc.record({ kind, id: fc.constantFrom(...ids), owner: fc.option(owner, { freq: 2 }) });
  const edits = fc.array(edit, { minLength: 0, maxLength: 3 });
  const weighted = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });
  const type = <const T extends string>(...types: T[]) => ({ type: fc.constantFrom(...types) });
  return fc.oneof(
    weighted(12, fc.record({ ...type('release'), edits, days: fc.constantFrom(null, 0, 0, 1) })),
    weighted(6, fc.record({ ...type('grant or revoke'), partner, owner })),
    weighted(3, fc.record({ ...type('everything', 'suspend or resume'), partner })),
    weighted(1, fc.record({ ...type('kinds'), partner, kinds: fc.subarray([...KINDS]) })),
    weighted(2, fc.record({ ...type('recreate', 'key'), partner })),
    weighted(4, fc.record({ ...type('roll back'), nth: fc.nat({ max: 2 }) })),
    weighted(2, fc.record({ ...type('wait'), days: fc.constantFrom(1, 2) })),
    weighted(1, fc.record(type('back up', 'recover'))),
    weighted(1, fc.record({ ...type('lose'), isClockBack: fc.boolean() })),
    weighted(14, fc.record({ ...type('sync'), partner, copy: fc.nat({ max: COPIES - 1 }) })),
    weighted(4, fc.record(type('notice'))),
  );
}

const lengths = { minLength: 5, maxLength: 60 };
export const histories = fc.oneof(
  fc.array(stepsOver(PARTNERS, OWNERS, [0, 1]), lengths),
  fc.array(stepsOver(1, ['a'], [0]), lengths),
);
export type Step = typeof histories extends fc.Arbitrary<readonly (infer S)[]> ? S : never;

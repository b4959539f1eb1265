import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { keyField, KINDS } from '../../src/kinds.ts';
import type { ChangeSink, FieldChange, RecordChange } from '../../src/publishing/preview/record-changes.ts';
import type { PublishOptions } from '../../src/publishing/publish.ts';
import { completerOf, RECORD_SCHEMAS } from '../../src/publishing/read/record-schemas.ts';
import { createTestDatabase, databaseForAllTests, type TestDatabase } from '../support/database.ts';
import { contract, publishLines, SMALL_CATALOG, supplier, type ImportLines } from '../support/publishing.ts';
import { generatedRecords, type GeneratedRecords } from '../support/records/generated-records.ts';
import { numberOfRuns } from '../support/runs.ts';

/** The report of a preview, and up to `limit` changes of each kind and sort. */
async function previewLines(
  { database }: TestDatabase,
  files: ImportLines,
  { limit = Infinity, ...options }: Partial<PublishOptions> & { limit?: number } = {},
) {
  const changes: RecordChange[] = [];
  const sink: ChangeSink = {
    room: (kind, sort) => limit - changes.filter((held) => held.kind === kind && held.change === sort).length,
    add: (change) => void changes.push(change),
  };
  const report = await publishLines(database, files, { ...options, dryRun: true, changes: sink });
  return { report, changes };
}

type Records = Map<string, Record<string, unknown>>;

/** The records of all kinds, complete, by kind and key. */
function completed(records: GeneratedRecords): Records {
  return new Map(
    KINDS.flatMap((kind) =>
      (records[kind] ?? []).map((line) => {
        const record = completerOf(RECORD_SCHEMAS[kind])(line) as Record<string, unknown>;
        return [`${kind} ${String(record[keyField(kind)])}`, record] as const;
      }),
    ),
  );
}

/** The record with its fields set to `after`, or set back to `before`. */
function applyFields(record: object, fields: readonly FieldChange[], to: 'before' | 'after'): object {
  const changed = structuredClone(record);
  for (const change of fields) {
    // `documents[2].name` → `documents`, `2`, `name`.
    const steps = change.field.split(/[.[\]]+/).filter((step) => step !== '');
    const last = steps.pop() ?? '';
    const holder = steps.reduce<Record<string, unknown>>(
      (inner, step) => inner[step] as Record<string, unknown>,
      changed as Record<string, unknown>,
    );
    if (Object.hasOwn(change, to)) holder[last] = change[to];
    // Only the end of a list is removed.
    else if (Array.isArray(holder)) holder.length = Math.min(holder.length, Number(last));
    else throw new Error(`${change.field} has no value ${to}`);
  }
  return changed;
}

function apply(records: Records, changes: readonly RecordChange[], to: 'before' | 'after'): Map<string, object> {
  const applied = new Map<string, object>(records);
  for (const change of changes) {
    const key = `${change.kind} ${change.id}`;
    if (change.change === 'changed') applied.set(key, applyFields(applied.get(key) ?? {}, change.fields, to));
    else if ((change.change === 'added') === (to === 'after')) applied.set(key, change.record);
    else applied.delete(key);
  }
  return applied;
}

describe('a preview of an import', { timeout: 120_000 }, () => {
  /** Nothing refers to these. */
  const LEAVES: readonly string[] = ['contracts', 'solicitations'];
  const stored = generatedRecords(1);
  for (const kind of LEAVES) stored[kind] = stored[kind]?.slice(20) ?? [];
  const made = databaseForAllTests();
  beforeAll(() => publishLines(made.database, stored));

  /** All records of `stored` as they are or as generated from another seed, and of the leaves any. */
  const imported = fc
    .tuple(fc.integer({ min: 1, max: 100_000 }), fc.infiniteStream(fc.integer({ min: 0, max: 9 })))
    .map(([seed, dice]) => {
      const others = generatedRecords(seed);
      const draw = (): number => Number(dice.next().value);
      return Object.fromEntries(
        Object.entries(others).map(([kind, records]) => {
          const former = new Map(
            (stored[kind] ?? []).map((record) => [record['id'] ?? record['abbreviation'], record]),
          );
          return [
            kind,
            records.flatMap((record): Record<string, unknown>[] => {
              const drawn = draw();
              if (LEAVES.includes(kind) && drawn === 0) return [];
              const old = former.get(record['id'] ?? record['abbreviation']);
              return [old !== undefined && drawn < 6 ? old : record];
            }),
          ];
        }),
      );
    });

  test('lists the changes that turn the stored records into the imported ones, and back', async () => {
    await fc.assert(
      fc.asyncProperty(imported, async (files) => {
        const { report, changes } = await previewLines(made, files, { replace: true });
        const [before, after] = [completed(stored), completed(files)];
        expect(apply(before, changes, 'after')).toEqual(after);
        expect(apply(after, changes, 'before')).toEqual(before);
        for (const [kind, counts] of Object.entries(report.kinds)) {
          for (const sort of ['added', 'changed', 'removed'] as const) {
            const listed = changes.filter((change) => change.kind === kind && change.change === sort);
            expect(new Set(listed.map(({ id }) => id)).size).toBe(counts[sort]);
          }
        }
      }),
      { numRuns: numberOfRuns({ usually: 2, nightly: 6 }) },
    );
  });
});

describe('a preview', () => {
  const made = databaseForAllTests();
  beforeAll(() => publishLines(made.database, SMALL_CATALOG));

  test('names fields by their path, and shows a list of ids as one value', async () => {
    const { solicitations, contracts } = SMALL_CATALOG;
    const { changes } = await previewLines(made, {
      contracts: [{ ...contracts[0], supplier_ids: ['sup_2', 'sup_1'] }],
      solicitations: [
        {
          ...solicitations[0],
          nigp_codes: [{ code: '914', description: 'Construction' }],
          documents: [{ id: 1, name: 'Plan' }],
        },
      ],
    });
    const plan = { id: 1, name: 'Plan', description: null, file_type: null, file_size: null };
    expect(changes).toEqual([
      {
        ...{ kind: 'contracts', id: 'ctr_1', name: 'Contract ctr_1', change: 'changed' },
        fields: [{ field: 'supplier_ids', before: ['sup_1'], after: ['sup_2', 'sup_1'] }],
      },
      {
        ...{ kind: 'solicitations', id: 'sol_1', name: 'Solicitation sol_1', change: 'changed' },
        fields: [
          { field: 'nigp_codes[0].code', before: '913', after: '914' },
          { field: 'documents[0]', after: plan },
        ],
      },
    ]);
  });

  test('counts records that embed a changed one, and does not list them', async () => {
    const { changes, report } = await previewLines(made, { 'lead-entities': [{ id: 'le_a', name: 'Renamed' }] });
    expect(changes).toEqual([
      {
        ...{ kind: 'lead-entities', id: 'le_a', name: 'Renamed', change: 'changed' },
        fields: [{ field: 'name', before: 'City of A', after: 'Renamed' }],
      },
    ]);
    expect(report.rerendered).toBe(2);
  });

  test.each([
    ['Line\nbreaks', 'in\n\nboth'],
    ['', ''],
    ['', null],
    [null, ''],
    [null, 'Only about\n'],
  ])('reads back the texts %j and %j of a supplier', async (short_intro, about) => {
    await using own = await createTestDatabase();
    const former = { ...supplier('sup_1'), short_intro, about };
    await publishLines(own.database, { ...SMALL_CATALOG, suppliers: [former, supplier('sup_2')] });
    const { changes } = await previewLines(own, {
      suppliers: [{ ...former, short_intro: 'Fresh intro', about: 'Fresh about' }],
    });
    expect(changes).toMatchObject([
      {
        fields: [
          { field: 'short_intro', before: short_intro, after: 'Fresh intro' },
          { field: 'about', before: about, after: 'Fresh about' },
        ],
      },
    ]);
  });

  test('lists no more changes than the receiver has room for, and counts all', async () => {
    const contracts = Array.from({ length: 9 }, (_, i) => contract(`ctr_new_${i}`));
    const { changes, report } = await previewLines(made, { contracts }, { limit: 4 });
    expect(changes.map(({ id }) => id)).toEqual(['ctr_new_0', 'ctr_new_1', 'ctr_new_2', 'ctr_new_3']);
    expect(report.kinds.contracts?.added).toBe(9);
  });

  test('shows removals that the import would ask about, and notes that', async () => {
    const { changes, report } = await previewLines(
      made,
      { contracts: [SMALL_CATALOG.contracts[0]] },
      { replace: true },
    );
    expect(changes).toMatchObject([{ id: 'ctr_2', change: 'removed', record: { name: 'Contract ctr_2' } }]);
    expect(report.notes).toEqual([
      expect.stringMatching(/^contracts\.ndjson is missing 1 of the 2 contracts .* needs --yes$/),
    ]);
  });
});

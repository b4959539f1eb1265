import { beforeAll, describe, expect, test } from 'vitest';
import type { Kind } from '../../src/kinds.ts';
import { ImportRefusedError } from '../../src/publishing/problems.ts';
import { recordChecker } from '../../src/publishing/read/record-checker.ts';
import { databaseForAllTests } from '../../test/support/database.ts';
import { contract, publishLines, SMALL_CATALOG, solicitation, supplier } from '../../test/support/publishing.ts';
import { convertedCsv, convertedOcds } from './convert.ts';

describe('a record that a converter may not write', () => {
  const made = databaseForAllTests();
  beforeAll(() => publishLines(made.database, SMALL_CATALOG));

  const certification = { abbreviation: 'X', name: 'Same', type: 'sbe' };
  test.each<[Kind, string, object[]]>([
    ['contracts', 'an id with a space', [{ ...contract('ctr_9'), id: 'ctr 9' }]],
    ['contracts', 'a blank name, and null for a list', [{ ...contract('ctr_9'), name: ' ', supplier_ids: null }]],
    ['contracts', 'NUL', [{ ...contract('ctr_9'), description: 'a\0b' }]],
    ['contracts', 'half of a surrogate pair', [{ ...contract('ctr_9'), summary: '\ud800' }]],
    ['contracts', 'a line that is too long', [{ ...contract('ctr_9'), description: 'x'.repeat(300_000) }]],
    ['suppliers', 'no state', [{ ...supplier('sup_9'), states_served: ['PA', 'Ohio'] }]],
    ['certifications', 'a comma', [{ ...certification, abbreviation: 'A,B' }]],
    ['solicitations', 'an unknown status', [{ ...solicitation('sol_9', 9), status: 'advertised' }]],
    ['solicitations', 'an id of digits', [{ ...solicitation('sol_9', 9), id: '9' }]],
    [
      'solicitations',
      'a repeated document',
      [{ ...solicitation('sol_9', 9), documents: [7, 7].map((id) => ({ id, name: 'D' })) }],
    ],
  ])('of %s, because of %s, is the same as for an import, with its reasons', async (kind, _, records) => {
    const check = recordChecker();
    const found = records.flatMap((record) => check(kind, record)).map(({ field, reason }) => ({ field, reason }));
    const refused = await publishLines(made.database, { [kind]: records }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ImportRefusedError);
    expect(found).toEqual(
      (refused as ImportRefusedError).problems.map(({ field, reason }) => ({
        field,
        reason: JSON.parse(`"${reason.replaceAll('"', '\\"')}"`) as string,
      })),
    );
  });

  test.each<[Kind, string, object[]]>([
    ['certifications', 'name', [certification, { ...certification, abbreviation: 'Y', name: 'SAME' }]],
    ['solicitations', 'ref', [solicitation('sol_8', 9), solicitation('sol_9', 9)]],
  ])('of %s, because another has its %s, is the same as for an import', async (kind, field, records) => {
    const check = recordChecker();
    expect(records.map((record) => check(kind, record).map((problem) => problem.field))).toEqual([[], [field]]);
    await expect(publishLines(made.database, { [kind]: records })).rejects.toThrow(ImportRefusedError);
  });
});

test('a value that an import would refuse is refused by its row and column', async () => {
  const agency = { id_from: ['Agency'], prefix: 'le_'.repeat(20), creates: 'lead-entities' };
  const fields = { id: 'No', name: 'Name', lead_entity_id: agency, summary: { column: 'Text' } };
  const content = 'No,Name,Agency,Text\nctr 1,Salt,Works,\nctr_2,Sand,Works,a\0b\nctr_3,Grit,"",\n';
  const { refusals, files } = await convertedCsv(
    { kinds: { contracts: { file: 'c.csv', fields: { ...fields, lead_entity_id: { ...agency, prefix: 'le_' } } } } },
    { 'c.csv': content },
  );
  expect(refusals).toEqual([
    expect.stringMatching(/^c\.csv: (line|row) 2\b.*: id: column "No": must be 1 to 64 .*; found "ctr 1"$/),
    expect.stringMatching(/^c\.csv: (line|row) 3\b.*: summary: column "Text": contains a NUL character$/),
    expect.stringMatching(/^c\.csv: (line|row) 4\b.*: lead_entity_id: column "Agency"/),
  ]);
  expect(files['contracts']).toBeUndefined();
});

test('a record created from a cell is refused as well, by the same column', async () => {
  const agency = { id_from: ['Agency'], prefix: 'x'.repeat(60), creates: 'lead-entities' };
  const fields = { id: 'No', name: 'Name', lead_entity_id: agency };
  const map = { kinds: { contracts: { file: 'c.csv', fields } } };
  const { refusals, files } = await convertedCsv(map, { 'c.csv': 'No,Name,Agency\nctr_1,Salt,Works\n' });
  expect(refusals[0]).toMatch(/column "Agency": must be 1 to 64 .*; found "xxx/);
  expect(files).toEqual({});
});

test('an OCDS process with such a value is refused as a whole, by its place', async () => {
  const release = (ocid: string, title: string): object => ({
    ...{ ocid, id: 'r', date: '2019-03-01T00:00:00Z', tag: ['tender'], buyer: { name: 'City' } },
    tender: { id: 't', title, status: 'active' },
  });
  const input = { releases: [release('x-1', 'a\0b'), release('x-2', 'Salt')] };
  const { refusals, records } = await convertedOcds([input]);
  expect(refusals).toEqual(['input-0.json: releases[0] (x-1): solicitations: title: contains a NUL character']);
  expect(records('solicitations')).toMatchObject([{ id: 'sol_x-2' }]);
});

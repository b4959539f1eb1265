import { gzipSync } from 'node:zlib';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ImportRefusedError, type Problem } from '../../src/publishing/problems.ts';
import { publish } from '../../src/publishing/publication.ts';
import { listSources } from '../../src/publishing/source.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import {
  contract,
  publishLines,
  SMALL_CATALOG,
  solicitation,
  supplier,
  type ImportLines,
} from '../support/publishing.ts';

let made: TestDatabase;
let before: string;

beforeAll(async () => {
  made = await createTestDatabase();
  await publishLines(made.database, SMALL_CATALOG);
  before = await contents();
});
afterAll(() => made.drop());

/** All that is published, as text. */
async function contents(): Promise<string> {
  const { kysely } = made.database;
  const rows = await Promise.all(
    (['publications', 'lead_entities', 'certifications', 'suppliers', 'contracts', 'solicitations'] as const).map(
      (table) => kysely.selectFrom(`catalog.${table}`).selectAll().execute(),
    ),
  );
  return JSON.stringify(rows);
}

async function problemsOf(files: ImportLines): Promise<readonly Problem[]> {
  const refusal: unknown = await publishLines(made.database, files).then(
    () => null,
    (error: unknown) => error,
  );
  if (!(refusal instanceof ImportRefusedError)) throw new Error('the import was not refused', { cause: refusal });
  return refusal.problems;
}

const s = solicitation('sol_9', 9);
const item = { id: 1, name: 'Price', required: true, file_type: null, allows_multiple: false, instructions: null };

const CASES: [what: string, files: ImportLines, line: number | null, field: string, reason: RegExp][] = [
  ['a line that is no JSON', { coops: ['{"id": "co_1",'] }, 1, '', /is not JSON/],
  ['a line that is no object', { coops: ['["co_1"]'] }, 1, '', /JSON object/],
  ['a missing field', { coops: [{ id: 'co_1' }] }, 1, 'name', /is missing/],
  ['an unknown field', { coops: [{ id: 'co_1', name: 'X', logo: '' }] }, 1, 'logo', /not a field/],
  ['a field named __proto__', { coops: ['{"id":"co_1","name":"X","__proto__":{}}'] }, 1, '__proto__', /not a field/],
  [
    'the asker of a question',
    {
      solicitations: [
        { ...s, questions: [{ id: 1, title: 'Q', body: '', created_at: s.created_at, supplier_id: 'sup_1' }] },
      ],
    },
    1,
    'questions[0].supplier_id',
    /not a field/,
  ],
  ['a wrong type', { coops: [{ id: 7, name: 'X' }] }, 1, 'id', /A-Z a-z 0-9/],
  ['null where it may not be', { coops: [{ id: 'co_1', name: null }] }, 1, 'name', /not blank/],
  ['a blank name', { coops: [{ id: 'co_1', name: ' \t' }] }, 1, 'name', /not blank/],
  ['an id with a space', { coops: [{ id: 'co 1', name: 'X' }] }, 1, 'id', /A-Z a-z 0-9/],
  ['an id of 65 characters', { coops: [{ id: 'c'.repeat(65), name: 'X' }] }, 1, 'id', /1 to 64/],
  ['a solicitation id of digits only', { solicitations: [{ ...s, id: '123' }] }, 1, 'id', /no digit/],
  ['a ref of zero', { solicitations: [{ ...s, ref: 0 }] }, 1, 'ref', /positive/],
  ['a ref that is no whole number', { solicitations: [{ ...s, ref: 1.5 }] }, 1, 'ref', /positive/],
  ['a ref beyond 2^53', { solicitations: [{ ...s, ref: 2 ** 53 }] }, 1, 'ref', /2\^53/],
  ['an unknown status', { solicitations: [{ ...s, status: 'pending' }] }, 1, 'status', /one of draft, open/],
  ['a date without a time', { solicitations: [{ ...s, close_at: '2026-04-15' }] }, 1, 'close_at', /RFC 3339/],
  [
    'an instant without an offset',
    { solicitations: [{ ...s, close_at: '2026-04-15T09:00:00' }] },
    1,
    'close_at',
    /offset/,
  ],
  ['an impossible date', { solicitations: [{ ...s, close_at: '2026-02-30T09:00:00Z' }] }, 1, 'close_at', /RFC 3339/],
  [
    'an NIGP code of four digits',
    { solicitations: [{ ...s, nigp_codes: [{ code: '9130', description: '' }] }] },
    1,
    'nigp_codes[0].code',
    /3, 5, 7 or 11/,
  ],
  [
    'a template that is no document of it',
    { solicitations: [{ ...s, requested_items: [{ ...item, template_document_id: 5 }] }] },
    1,
    'requested_items[0].template_document_id',
    /5 names no document/,
  ],
  [
    'an unknown state',
    { suppliers: [{ ...supplier('sup_9'), states_served: ['PA', 'ZZ'] }] },
    1,
    'states_served[1]',
    /USPS/,
  ],
  [
    'a state twice',
    { suppliers: [{ ...supplier('sup_9'), states_served: ['PA', 'PA'] }] },
    1,
    'states_served',
    /"PA" twice/,
  ],
  [
    'a supplier twice in one contract',
    { contracts: [{ ...contract('ctr_9'), supplier_ids: ['sup_1', 'sup_1'] }] },
    1,
    'supplier_ids',
    /"sup_1" twice/,
  ],
  [
    'a lead entity that is not there',
    { contracts: [{ ...contract('ctr_9'), lead_entity_id: 'le_z' }] },
    1,
    'lead_entity_id',
    /"le_z" names no lead entity/,
  ],
  [
    'a coop that is not there',
    { contracts: [{ ...contract('ctr_9'), coop_id: 'co_z' }] },
    1,
    'coop_id',
    /names no coop/,
  ],
  [
    'a supplier that is not there',
    { contracts: [{ ...contract('ctr_9'), supplier_ids: ['sup_1', 'sup_z'] }] },
    1,
    'supplier_ids[1]',
    /names no supplier/,
  ],
  [
    'a city service that is not there',
    { suppliers: [{ ...supplier('sup_9'), city_service_ids: ['cs_z'] }] },
    1,
    'city_service_ids[0]',
    /names no city service/,
  ],
  [
    'a certification that is not there',
    { suppliers: [{ ...supplier('sup_9'), certifications: ['XXX'] }] },
    1,
    'certifications[0]',
    /names no certification/,
  ],
  [
    'a lead entity of a solicitation that is not there',
    { solicitations: [{ ...s, lead_entity_id: 'le_z' }] },
    1,
    'lead_entity_id',
    /names no lead entity/,
  ],
  [
    'an id twice in one file',
    {
      coops: [
        { id: 'co_1', name: 'X' },
        { id: 'co_1', name: 'Y' },
      ],
    },
    2,
    'id',
    /line 1 already/,
  ],
  [
    'a record that is removed too',
    {
      coops: [
        { id: 'co_1', name: 'X' },
        { id: 'co_1', deleted: true },
      ],
    },
    2,
    'id',
    /line 1 already/,
  ],
  ['a ref twice in one file', { solicitations: [s, { ...s, id: 'sol_10' }] }, 2, 'ref', /line 1 already/],
  ['a ref of a published record', { solicitations: [{ ...s, ref: 1 }] }, 1, 'ref', /1 is the ref of sol_1 and sol_9/],
  [
    'an abbreviation with a comma',
    { certifications: [{ abbreviation: 'A,B', name: 'X', type: 'sbe' }] },
    1,
    'abbreviation',
    /no comma/,
  ],
  [
    'a certification name that differs in case only',
    { certifications: [{ abbreviation: 'M2', name: 'MINORITY business enterprise', type: 'sbe' }] },
    1,
    'name',
    /case aside/,
  ],
  [
    'an unknown certification type',
    { certifications: [{ abbreviation: 'A', name: 'X', type: 'other' }] },
    1,
    'type',
    /sbe, technical/,
  ],
  ['an escaped NUL', { coops: ['{"id":"co_1","name":"a\\u0000b"}'] }, 1, 'name', /NUL/],
  ['a raw NUL', { coops: ['{"id":"co_1","name":"a\0b"}'] }, 1, '', /is not JSON/],
  ['half of a surrogate pair', { coops: ['{"id":"co_1","name":"\\ud83d"}'] }, 1, 'name', /surrogate/],
  ['invalid UTF-8', { coops: [Buffer.from('7b226964223aff7d', 'hex')] }, 1, '', /UTF-8/],
  ['a removal that is not true', { coops: [{ id: 'co_1', deleted: false }] }, 1, 'deleted', /must be true/],
  ['a removal with other fields', { coops: [{ id: 'co_1', deleted: true, name: 'X' }] }, 1, 'name', /not a field/],
  [
    'the removal of a lead entity that a contract names',
    { 'lead-entities': [{ id: 'le_a', deleted: true }] },
    1,
    'id',
    /refers to it/,
  ],
  [
    'the removal of a supplier that a contract names',
    { suppliers: [{ id: 'sup_1', deleted: true }] },
    1,
    'id',
    /contract ctr_1 refers/,
  ],
  [
    'the removal of a certification that a supplier holds',
    { certifications: [{ abbreviation: 'MBE', deleted: true }] },
    1,
    'abbreviation',
    /supplier sup_1 refers/,
  ],
  ['a file of an unknown kind', { contract: [contract('ctr_9')] }, null, '', /no known kind/],
];

describe('an import is refused, with file, line, field and reason, and writes nothing, for', () => {
  test.each(CASES)('%s', async (_what, files, line, field, reason) => {
    const [problem, ...others] = await problemsOf(files);
    expect(problem).toMatchObject({ file: `${Object.keys(files)[0]}.ndjson`, line, field });
    expect(problem?.reason).toMatch(reason);
    expect(others.length).toBeLessThan(2);
    expect(await contents()).toBe(before);
  });
});

test('reports the problems of all files at once, in the order of the lines', async () => {
  const problems = await problemsOf({
    coops: [{ id: 'co_1' }, { id: 'co_2', name: '' }],
    contracts: [
      { ...contract('ctr_9'), coop_id: 'co_1' },
      { ...contract('ctr_8'), name: '' },
    ],
  });
  expect(problems.map(({ file, line, field }) => [file, line, field])).toEqual([
    ['coops.ndjson', 1, 'name'],
    ['coops.ndjson', 2, 'name'],
    // ctr_9 names a coop that is there, though with a mistake of its own.
    ['contracts.ndjson', 2, 'name'],
  ]);
});

test('stops at a hundred problems', async () => {
  expect(await problemsOf({ coops: Array.from({ length: 500 }, (_, i) => ({ id: `co_${i}` })) })).toHaveLength(100);
});

test.each([
  ['an archive that was cut short', gzipSync(`${JSON.stringify({ id: 'co_1', name: 'X' })}\n`).subarray(0, -6)],
  ['an archive that is none', Buffer.from('{"id":"co_1","name":"X"}\n')],
])('refuses %s, and writes nothing', async (_what, bytes) => {
  const directory = mkdtempSync(join(tmpdir(), 'pds-import-'));
  writeFileSync(join(directory, 'coops.ndjson.gz'), bytes);
  const sources = await listSources(directory);
  await expect(publish(made.database, sources, { clock: Date.now })).rejects.toThrow(/coops.ndjson.gz: cannot be read/);
  rmSync(directory, { recursive: true });
  expect(await contents()).toBe(before);
});

test('refuses a directory that is not there, holds nothing, or holds a kind twice', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'pds-import-'));
  await expect(listSources(join(directory, 'none'))).rejects.toThrow(/is no directory/);
  await expect(listSources(directory)).rejects.toThrow(/holds no import file/);
  writeFileSync(join(directory, 'coops.ndjson'), '');
  writeFileSync(join(directory, 'coops.ndjson.gz'), '');
  await expect(listSources(directory)).rejects.toThrow(/same kind as coops.ndjson/);
  rmSync(directory, { recursive: true });
});

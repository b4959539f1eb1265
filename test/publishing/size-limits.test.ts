import { sql } from 'kysely';
import { beforeAll, describe, expect, test } from 'vitest';
import { MAX_LINE_BYTES } from '../../src/publishing/read/record-schemas.ts';
import { MAX_CONTRACT_BYTES } from '../../src/publishing/write/render-row.ts';
import { databaseForAllTests } from '../support/database.ts';
import {
  contract,
  publishLines,
  refusalOf,
  SMALL_CATALOG,
  solicitation,
  supplier,
  type ImportLines,
} from '../support/publishing.ts';

const made = databaseForAllTests();
beforeAll(() => publishLines(made.database, SMALL_CATALOG));

/** The problems reported for these lines. */
const problemsOf = async (files: ImportLines) => (await refusalOf(publishLines(made.database, files)))?.problems ?? [];

/** A line of exactly this many UTF-8 bytes, by padding a field. */
function lineOf(bytes: number, record: object, field: string): string {
  const withText = (text: string): string => JSON.stringify({ ...record, [field]: text });
  const missing = bytes - Buffer.byteLength(withText(''));
  return withText('é'.repeat(Math.floor(missing / 2)) + 'e'.repeat(missing % 2));
}

const LARGE = 250_000;
const large = (id: string) => ({ ...supplier(id), website: `https://${'x'.repeat(LARGE)}` });
const manyLarge = Array.from({ length: 9 }, (_, index) => large(`sup_large_${index}`));
const ids = (suppliers: readonly { id: string }[]): string[] => suppliers.map(({ id }) => id);

describe.each([
  ['lead-entities', { id: 'le_long' }, 'name'],
  ['coops', { id: 'co_long' }, 'name'],
  ['city-services', { id: 'cs_long' }, 'name'],
  ['certifications', { abbreviation: 'LONG', type: 'sbe' }, 'name'],
  ['suppliers', supplier('sup_long'), 'about'],
  ['contracts', contract('ctr_long'), 'description'],
  ['solicitations', solicitation('sol_long', 77), 'description'],
] as const)('a line of %s', (kind, record, field) => {
  const maxBytes = MAX_LINE_BYTES[kind];

  test('of the maximum length is published', async () => {
    expect(await problemsOf({ [kind]: [lineOf(maxBytes, record, field)] })).toEqual([]);
  });

  test('that is one byte longer is refused with file, line, size and limit', async () => {
    const file = `${kind}.ndjson`;
    expect(await problemsOf({ [kind]: ['', lineOf(maxBytes + 1, record, field)] })).toEqual([
      {
        file,
        line: 2,
        field: '',
        reason: `is ${maxBytes + 1} bytes long; the maximum for a line of this file is ${maxBytes}`,
      },
    ]);
  });
});

test('a line that is too long is not parsed, and records that reference its id are not reported too', async () => {
  const noJson = `{"id":"sup_broken",${'['.repeat(MAX_LINE_BYTES.suppliers)}`;
  const problems = await problemsOf({
    suppliers: [noJson],
    contracts: [{ ...contract('ctr_names_broken'), supplier_ids: ['sup_broken'] }],
  });
  expect(problems.map(({ file, line, reason }) => [file, line, reason.slice(0, 30)])).toEqual([
    ['suppliers.ndjson', 1, expect.stringMatching(/^is \d+ bytes long/)],
  ]);
});

describe('a contract with its embedded records', () => {
  test('is refused if it is too large, however short its own line is', async () => {
    const [problem, ...others] = await problemsOf({
      suppliers: manyLarge,
      contracts: [contract('ctr_a'), { ...contract('ctr_large'), supplier_ids: ids(manyLarge) }],
    });
    expect(others).toEqual([]);
    expect(problem).toMatchObject({ file: 'contracts.ndjson', line: 2 });
    expect(problem?.reason).toMatch(/^is 2\d{6} bytes long with the suppliers and city services that it names;/);
    expect(problem?.reason).toContain(String(MAX_CONTRACT_BYTES));
  });

  test('is refused if only an embedded supplier or city service changed, with that line', async () => {
    const suppliers = Array.from({ length: 9 }, (_, index) => supplier(`sup_grows_${index}`));
    const named = { ...contract('ctr_grows'), supplier_ids: ids(suppliers), city_service_ids: ['cs_1'] };
    expect(await problemsOf({ suppliers, contracts: [named] })).toEqual([]);
    const grown = suppliers.map(({ id }) => large(id));
    expect(await problemsOf({ suppliers: grown.slice(0, 8) })).toEqual([]);
    const tooLarge = expect.stringMatching(/^makes contract "ctr_grows" 2\d{6} bytes long; .* is 2097152/) as string;
    expect(await problemsOf({ suppliers: [supplier('sup_1'), ...grown.slice(8)] })).toEqual([
      { file: 'suppliers.ndjson', line: 2, field: '', reason: tooLarge },
    ]);
    expect(await problemsOf({ 'city-services': [{ id: 'cs_1', name: 'x'.repeat(LARGE) }] })).toEqual([
      { file: 'city-services.ndjson', line: 1, field: '', reason: tooLarge },
    ]);
    const { bytes } = await made.database.kysely
      .selectFrom('catalog.contracts')
      .select(sql<number>`octet_length(document)`.as('bytes'))
      .where('id', '=', 'ctr_grows')
      .executeTakeFirstOrThrow();
    expect(bytes).toBeGreaterThan(8 * LARGE);
    expect(bytes).toBeLessThanOrEqual(MAX_CONTRACT_BYTES);
  });
});

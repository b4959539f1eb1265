import { beforeEach, describe, expect, test } from 'vitest';
import { databaseForEachTest } from '../support/database.ts';
import { testWith } from '../support/installed-programs.ts';
import { makePartner } from '../support/partners.ts';
import { runPdsInTerminal } from '../support/process/in-terminal.ts';
import {
  contract,
  publishLines,
  SMALL_CATALOG,
  solicitation,
  supplier,
  withImportDirectory,
  type ImportLines,
} from '../support/publishing.ts';
import { callPds } from './call-pds.ts';

const made = databaseForEachTest();
beforeEach(async () => {
  await publishLines(made.database, SMALL_CATALOG);
});

/** Runs `pds` with `DIR` replaced by a directory with these files. */
function runOn(files: ImportLines, ...words: string[]) {
  return withImportDirectory(files, (directory) =>
    callPds(
      words.map((word) => (word === 'DIR' ? directory : word)),
      made.settings,
    ),
  );
}

async function contractIds(): Promise<string[]> {
  const rows = await made.database.kysely.selectFrom('catalog.contracts').select('id').orderBy('id').execute();
  return rows.map(({ id }) => id);
}

const CHANGED = {
  suppliers: [
    { ...supplier('sup_1'), location: 'Chicago, IL', website: 'https://example.com/\u2028\u001b[31m' },
    supplier('sup_3'),
  ],
  contracts: [contract('ctr_1')],
};

const LISTED = `suppliers:
  + sup_3  Supplier sup_3
  ~ sup_1  Supplier sup_1
      location  "Erie, PA" -> "Chicago, IL"
      website   null -> "https://example.com/\\u2028\\u001b[31m"
`;
const REMOVED = `contracts:
  - ctr_2  Contract ctr_2
`;

describe('pds diff', { timeout: 60_000 }, () => {
  test('lists each record that an import would change, and exits with 1, also if it would only remove some', async () => {
    const { code, stdout, stderr } = await runOn(CHANGED, 'diff', 'DIR');
    expect({ code, stdout }).toEqual({ code: 1, stdout: LISTED });
    expect(stderr).toMatch(/^1 {6}1 {8}0 {10}0 {8}suppliers$/m);
    expect((await runOn(CHANGED, 'diff', 'DIR', '--replace')).stdout).toBe(
      LISTED + '  - sup_2  Supplier sup_2\n' + REMOVED,
    );
    expect((await runOn({ contracts: [contract('ctr_1')] }, 'diff', 'DIR', '--replace')).code).toBe(1);
    expect(stderr).toMatch(/^Nothing was written\.$/m);
    expect(await contractIds()).toEqual(['ctr_1', 'ctr_2']);
  });

  test('exits with 0 if an import would change nothing, and prints no list', async () => {
    expect(await runOn(SMALL_CATALOG, 'diff', 'DIR', '--replace')).toMatchObject({ code: 0, stdout: '' });
  });

  test('exits with 2 if the import would be refused, and lists no change', async () => {
    const files = { ...CHANGED, solicitations: ['{}'] };
    expect(await runOn(files, 'diff', 'DIR')).toMatchObject({
      ...{ code: 2, stdout: '' },
      stderr: expect.stringContaining('nothing was written') as string,
    });
    const { stdout } = await runOn(files, 'diff', 'DIR', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ error: { message: expect.any(String) as string } });
  });

  test('prints every change as JSON, with whole values', async () => {
    const about = 'a'.repeat(100_000);
    const suppliers = [{ ...supplier('sup_1'), about }, ...Array.from({ length: 50 }, (_, i) => supplier(`sup_n${i}`))];
    const { code, stdout } = await runOn({ suppliers }, 'diff', 'DIR', '--json');
    expect(code).toBe(1);
    const report = JSON.parse(stdout) as { kinds: object; changes: object[] };
    expect(report).toMatchObject({ dry_run: true, kinds: { suppliers: { added: 50, changed: 1 } } });
    expect(report.changes).toHaveLength(51);
    expect(report.changes.at(-1)).toEqual({
      ...{ kind: 'suppliers', id: 'sup_1', name: 'Supplier sup_1', change: 'changed' },
      fields: [{ field: 'about', before: null, after: about }],
    });
  });

  test('lists the first 20 records of a sort, or as many as --show sets', async () => {
    const files = { contracts: Array.from({ length: 30 }, (_, i) => contract(`ctr_n${i}`)) };
    const linesOf = async (...options: string[]): Promise<string[]> =>
      (await runOn(files, 'diff', 'DIR', ...options)).stdout.split('\n').slice(1, -1);
    expect((await linesOf()).slice(-2)).toEqual([
      '  + ctr_n19  Contract ctr_n19',
      '    and 10 more added; --show all lists them',
    ]);
    expect(await linesOf()).toHaveLength(21);
    expect(await linesOf('--show', 'all')).toHaveLength(30);
    expect(await linesOf('--show', '0')).toEqual([]);
  });
});

describe('pds import --replace of less than four fifths of a kind', { timeout: 60_000 }, () => {
  const CUT = { contracts: [contract('ctr_1')] };

  test('without a terminal, is refused with the option that allows it', async () => {
    const { code, stderr } = await runOn(CUT, 'import', 'DIR', '--replace');
    expect(code).toBe(1);
    expect(stderr).toMatch(/missing 1 of the 2 contracts .* add --yes$/m);
    expect(await contractIds()).toEqual(['ctr_1', 'ctr_2']);
    expect((await runOn(CUT, 'import', 'DIR', '--replace', '--yes')).code).toBe(0);
    expect(await contractIds()).toEqual(['ctr_1']);
  });

  testWith('python').each([
    ['', 1],
    ['no', 1],
    ['ctrl-c', 130],
    ['y', 0],
  ])('asks on a terminal, and %j ends it with %i (needs python3)', async (typed, code) => {
    const outcome = await withImportDirectory(CUT, (directory) =>
      runPdsInTerminal(['import', directory, '--replace'], made.settings, { text: '[y/N]', typed }),
    );
    expect(outcome).toMatchObject({ code, output: expect.stringContaining('remove 1 of 2 contracts') as string });
    expect(await contractIds()).toEqual(code === 0 ? ['ctr_1'] : ['ctr_1', 'ctr_2']);
  });

  testWith('python')('on a terminal, names the partners that lose access before it asks (needs python3)', async () => {
    await makePartner(made.database, Date.now, { name: 'acme', leadEntities: ['le_b'] });
    const moved = { ...CUT, solicitations: [solicitation('sol_1', 1)] };
    const outcome = await withImportDirectory(moved, (directory) =>
      runPdsInTerminal(['import', directory, '--replace'], made.settings, { text: '[y/N]', typed: 'y' }),
    );
    const warning = 'partner acme: it sees no contract, solicitation or supplier any more.';
    expect(outcome).toMatchObject({ code: 0, output: expect.stringContaining(warning) as string });
    expect(await contractIds()).toEqual(['ctr_1']);
  });
});

import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { blocksRunBy } from '../docs/command-blocks.ts';
import { readTokens, ROOT } from '../docs/documents.ts';
import { Workspace } from '../support/cluster/workspace.ts';
import { DocumentShell } from './document-shell.ts';

const PAGE = 'docs/operators/converting.md';

let workspace: Workspace;
let shell: DocumentShell;

beforeAll(async () => {
  workspace = new Workspace();
  shell = await DocumentShell.create(workspace);
  cpSync(join(ROOT, 'convert/examples'), shell.folder, { recursive: true });
  for (const [name, text] of documentedFiles()) writeFileSync(join(shell.folder, name), text);
  writeFileSync(join(shell.folder, 'releases.json'), JSON.stringify(PACKAGE));
});
afterAll(() => workspace.close());

/** The files that the page shows: each is the block after the sentence that names it first. */
function documentedFiles(): [name: string, text: string][] {
  const files: [string, string][] = [];
  let named: string | undefined;
  for (const token of readTokens(PAGE)) {
    if (token.type === 'paragraph') named = /`([\w-]+\.(?:csv|json))`/.exec(token.raw)?.[1];
    if (token.type === 'code' && token.lang !== 'sh' && named !== undefined) files.push([named, String(token.text)]);
  }
  return files;
}

/** The smallest package with a tender and a contract. */
const PACKAGE = {
  uri: 'https://publisher.example/package.json',
  version: '1.1',
  publishedDate: '2026-01-05T00:00:00Z',
  releases: [
    {
      ocid: 'ocds-example-1',
      id: '1',
      date: '2026-01-05T00:00:00Z',
      tag: ['tender', 'contract'],
      parties: [
        { id: '1', name: 'City of Springfield', roles: ['buyer'] },
        { id: '2', name: 'Acme Paving', roles: ['supplier'] },
      ],
      buyer: { id: '1', name: 'City of Springfield' },
      tender: { id: 'T-1', title: 'Road works', status: 'complete', procuringEntity: { id: '1' } },
      awards: [{ id: 'a1', status: 'active', suppliers: [{ id: '2', name: 'Acme Paving' }] }],
      contracts: [{ id: 'c1', awardID: 'a1', title: 'Road works', status: 'active' }],
    },
  ],
};

/** The records of a file that a conversion wrote. */
function records(directory: string, kind: string): unknown[] {
  const lines = readFileSync(join(shell.folder, directory, `${kind}.ndjson`), 'utf8').trim();
  return lines.split('\n').map((line) => JSON.parse(line) as unknown);
}

test('ten commands lead from two CSV files to the first response of a partner', { timeout: 60_000 }, async () => {
  const served = await shell.serve(PAGE, 'export PDS_DATABASE_URL=sqlite:data/springfield.sqlite', async () => {
    const { output } = await shell.run(PAGE, 'curl -H', { 'curl ': 'curl -sS ' });
    expect((JSON.parse(output) as { data: unknown }).data).toMatchObject([
      {
        name: 'Asphalt, hot mix',
        lead_entity: { name: 'Public Works' },
        suppliers: [{ name: 'Acme Paving, LLC', website: 'https://acme.example', states_served: ['IL'] }],
      },
    ]);
  });
  expect(served).toContain('Created the database data/springfield.sqlite (PDS_DATABASE_URL).');
  expect(served).not.toContain('Migrated');
});

describe('the recipes for converting data', { timeout: 60_000 }, () => {
  test('sketch a map that names every column', async () => {
    const sketched = JSON.parse(
      await shell.shell('npx pds convert csv --sketch active-contracts.csv 2>/dev/null'),
    ) as unknown;
    const text = JSON.stringify(sketched);
    for (const column of ['Contract', 'Title', 'Agency', 'Vendor', 'City', 'State', 'E-mail', 'Expires'])
      expect(text).toContain(`"${column}"`);
  });

  test('merge the rows of a contract with several suppliers', async () => {
    await shell.run(PAGE, 'npx pds convert csv --map every-week.json');
    expect(await shell.shell('npx pds diff every-week', 1)).toContain('2      0        0          0        contracts');
    const suppliers = records('every-week', 'suppliers') as { id: string; name: string }[];
    expect(suppliers).toMatchObject([
      { name: 'Acme Paving, LLC', location: 'Springfield, IL', email: 'bids@acme.example' },
      { name: 'PlaySafe Inc.', location: 'Madison, WI', email: 'sales@playsafe.example' },
      { name: 'Prairie Salt Co.', location: 'Peoria, IL', email: null },
    ]);
    const [acme, playSafe, prairie] = suppliers.map(({ id }) => id);
    expect(records('every-week', 'contracts')).toMatchObject([
      { name: 'Asphalt and road salt', summary: 'Expires 01/14/2029.', supplier_ids: [acme, prairie] },
      { name: 'Playground equipment', summary: null, supplier_ids: [acme, playSafe] },
    ]);
  });

  test("convert Socrata's bids, with the time zone of the map", () => {
    expect(records('every-week', 'solicitations')).toMatchObject([
      { reference_number: 'RFP-24-017', status: 'open', close_at: '2026-12-01T20:00:00.000Z' },
      { reference_number: 'RFP-24-018', status: 'awarded', close_at: '2026-09-15T19:00:00.000Z' },
    ]);
  });

  test('convert an OCDS package', async () => {
    await shell.run(PAGE, 'npx pds convert ocds releases.json');
    expect(records('from-ocds', 'contracts')).toMatchObject([{ name: 'Road works' }]);
    expect(records('from-ocds', 'solicitations')).toMatchObject([{ title: 'Road works', status: 'awarded' }]);
    expect(await shell.shell('npx pds diff from-ocds', 1)).toContain('1      0        0          0        contracts');
  });

  test('convert, compare and import the files of every week, by one map', async () => {
    const values = { 'npx pds': 'PDS_DATABASE_URL=sqlite:data/every-week.sqlite npx pds' };
    // Enough that one record is no large removal.
    const others = Array.from({ length: 10 }, (_, index) => index);
    const add = (name: string, rowOf: (index: number) => string): string => {
      const path = join(shell.folder, name);
      writeFileSync(path, `${readFileSync(path, 'utf8').trimEnd()}\n${others.map(rowOf).join('\n')}\n`);
      return path;
    };
    const contracts = add(
      'active-contracts.csv',
      (index) => `47${index},Contract ${index},Department ${index},Vendor ${index},,,,`,
    );
    const bids = add(
      'bids.csv',
      (index) => `B-${index},Bid ${index},Awarded,Department ${index},2026-08-15T00:00:00.000,,`,
    );
    await shell.run(PAGE, 'npx pds convert csv --map every-week.json', values);
    await shell.run(PAGE, 'npx pds diff every-week', values, 1);
    await shell.run(PAGE, 'npx pds import every-week', values);

    const edit = (path: string, from: RegExp, to: string): void =>
      writeFileSync(path, readFileSync(path, 'utf8').replace(from, to));
    // Parks & Recreation has no other contract; the Public Library is only in the bids.
    edit(contracts, /^(.*Playground.*\n)+/m, 'DIR-103,Road salt,Public Works,"Acme Paving, LLC",,,,\n');
    edit(bids, /Advertised/, 'Awarded');
    await shell.run(PAGE, 'npx pds convert csv --map every-week.json', values);
    const { output: changes } = await shell.run(PAGE, 'npx pds diff every-week', values, 1);
    const lines = changes
      .split('\n')
      .flatMap((line) => /^ {2}([-+~]) \S+ {2}(.*)$/.exec(line)?.slice(1).join(' ') ?? []);
    expect(lines.sort()).toEqual([
      '+ Road salt',
      '- Parks & Recreation',
      '- PlaySafe Inc.',
      '- Playground equipment',
      '~ Fire hydrant maintenance',
    ]);
    await shell.run(PAGE, 'npx pds import every-week', values);
    const { output } = await shell.run(PAGE, 'npx pds diff every-week', values);
    expect(output).toContain('0      0        13         0        lead-entities');

    // Cut short: nothing is removed.
    edit(contracts, /(^(.*\n){5})[^]*/, '$1');
    const imported =
      'npx pds convert csv --map every-week.json --out every-week && npx pds import every-week --replace';
    expect(await shell.shell(imported.replaceAll('npx pds', values['npx pds']), 1)).toMatch(
      /contracts.ndjson: is missing 9 of the 12 contracts that are there/,
    );
  });

  test('refuse a renamed column by name, and write nothing', async () => {
    await shell.shell("sed -i 's/Vendor/Vendor Name/' active-contracts.csv");
    const output = await shell.shell('npx pds convert csv --map every-week.json --out renamed', 1);
    expect(output).toContain('has no column "Vendor"');
    expect(output).toContain('"Vendor Name", which the map neither uses nor ignores');
    await shell.shell('test ! -e renamed');
  });
});

test('every recipe was run', () => {
  expect(shell.ran).toEqual(blocksRunBy('converting.sqlite'));
});

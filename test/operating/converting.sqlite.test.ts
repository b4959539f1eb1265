import { appendFileSync, cpSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { blocksRunBy } from '../docs/command-blocks.ts';
import { ROOT } from '../docs/documents.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { DocumentShell } from './document-shell.ts';

const PAGE = 'docs/operators/converting.md';

const shell = forAllTests(() => DocumentShell.create());
beforeAll(() => {
  cpSync(join(ROOT, 'convert/examples'), shell.folder, { recursive: true });
  writeFileSync(join(shell.folder, 'releases.json'), JSON.stringify(PACKAGE));
});

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

  test('refuse a renamed column by name, and write nothing', async () => {
    await shell.shell("sed -i 's/Vendor/Vendor Name/' active-contracts.csv");
    const output = await shell.shell('npx pds convert csv --map every-week.json --out renamed', 1);
    expect(output).toContain('has no column "Vendor"');
    expect(output).toContain('"Vendor Name", which the map neither uses nor ignores');
    await shell.shell('test ! -e renamed');
  });
});

describe('the script for every week', { timeout: 120_000 }, () => {
  const WEEKLY = 'docs/operators/weekly.md';
  let folder: string;
  let values: Record<string, string>;

  beforeAll(() => {
    folder = join(shell.folder, 'weekly');
    cpSync(join(ROOT, 'convert/examples'), folder, { recursive: true });
    renameSync(join(folder, 'every-week.json'), join(folder, 'map.json'));
    // Enough that one record is no large removal.
    const rowsOf = (row: (index: number) => string): string => Array.from({ length: 10 }, (_, at) => row(at)).join('');
    const contracts = rowsOf((at) => `47${at},Contract ${at},Department ${at},Vendor ${at},,,,\n`);
    appendFileSync(join(folder, 'active-contracts.csv'), contracts);
    const bids = rowsOf((at) => `B-${at},Bid ${at},Awarded,Department ${at},2026-08-15T00:00:00.000,,\n`);
    appendFileSync(join(folder, 'bids.csv'), bids);
    writeFileSync(join(shell.folder, 'bin/pds'), '#!/bin/sh\nexec npx pds "$@"\n', { mode: 0o755 });
    const settings = `PDS_DATABASE_URL=sqlite:${folder}/weekly.sqlite `;
    values = {
      ...{ 'sudo -u pds ': settings, 'sudo ': settings },
      ...{ '/opt/partner-data-service/current/': ROOT, '/srv/catalog': folder },
    };
  });

  const edit = (name: string, from: RegExp, to: string): void => {
    const path = join(folder, name);
    writeFileSync(path, readFileSync(path, 'utf8').replace(from, to));
  };
  const weeks = (): string[] =>
    readdirSync(join(folder, 'weeks'))
      .filter((name) => name !== 'lock')
      .sort();
  const run = async (code: number, prefix = values['sudo '] ?? ''): Promise<string> =>
    (await shell.run(WEEKLY, 'sudo -u pds', { ...values, 'sudo -u pds ': prefix }, code)).output;
  /** Runs the documented import of a folder with another one. */
  const importInstead = (documented: string, folderAndOptions: string): Promise<unknown> =>
    shell.run(WEEKLY, `sudo pds import /srv/catalog/weeks/${documented}`, {
      ...values,
      [documented]: folderAndOptions,
    });
  /** Asserts that the folder has what is published. */
  const expectPublished = (name: string): Promise<string> =>
    shell.shell(`${values['sudo '] ?? ''}pds diff ${folder}/weeks/${name} --replace`);

  test('publishes what changed, prints it, and keeps a folder that undoes it', async () => {
    await shell.shell(`touch -d '8 days ago' ${folder}/bids.csv`);
    expect(await run(0)).toContain('warning: not written for a week: ./bids.csv');
    const [first = ''] = weeks();
    // Parks & Recreation has no other contract; the Public Library is only in the bids.
    const added = 'DIR-103,Road salt,Public Works,"Acme Paving, LLC",,,,\n';
    edit('active-contracts.csv', /^(.*Playground.*\n)+/m, added);
    edit('bids.csv', /Advertised/, 'Awarded');
    const lines = (await run(0))
      .split('\n')
      .flatMap((line) => /^ {2}([-+~]) \S+ {2}(.*)$/.exec(line)?.slice(1).join(' ') ?? []);
    expect(lines.sort()).toEqual([
      '+ Road salt',
      '- Parks & Recreation',
      '- PlaySafe Inc.',
      '- Playground equipment',
      '~ Fire hydrant maintenance',
    ]);
    expect(weeks()).toHaveLength(2);
    await importInstead('2026-11-20_060000', first);
    await expectPublished(first);
  });

  test('publishes nothing that needs consent, and keeps it for someone who gives it', async () => {
    const [first = ''] = weeks();
    const whole = readFileSync(join(folder, 'active-contracts.csv'), 'utf8');
    // Cut short.
    edit('active-contracts.csv', /(^(.*\n){5})[^]*/, '$1');
    const output = await run(1);
    expect(output).toMatch(/contracts.ndjson: is missing \d+ of the 12 contracts in the catalog/);
    await expectPublished(first);
    const kept = weeks().find((name) => name.startsWith('new_')) ?? '';
    expect(output.trimEnd()).toMatch(new RegExp(`nothing was published; the converted files are in .*/weeks/${kept}$`));
    await importInstead('new_2026-11-27_060000 --replace', `${kept} --replace --yes`);
    await expectPublished(kept);
    writeFileSync(join(folder, 'active-contracts.csv'), whole);
  });

  test('publishes nothing of refused values, nor while an earlier run has not ended', async () => {
    const before = weeks();
    edit('bids.csv', /Awarded/, 'Postponed');
    expect(await run(1)).toContain('"Postponed" is not in the map');
    edit('bids.csv', /Postponed/, 'Awarded');
    const held = await run(1, `flock ${folder}/weeks/lock env ${values['sudo '] ?? ''}`);
    expect(held).toContain('nothing was published; an earlier run has not ended');
    expect(weeks()).toEqual(before);
  });

  test('keeps the folders of eight weeks, and none that was not published', async () => {
    for (let day = 1; day <= 9; day += 1) mkdirSync(join(folder, `weeks/2026-01-0${day}_060000`));
    await run(0);
    const left = weeks();
    expect(left).toHaveLength(8);
    // Three runs have published.
    expect(left.slice(0, 5)).toEqual([5, 6, 7, 8, 9].map((day) => `2026-01-0${day}_060000`));
    await expectPublished(left.at(-1) ?? '');
  });
});

test('every recipe was run', () => {
  expect(shell.ran).toEqual(blocksRunBy('converting.sqlite'));
});

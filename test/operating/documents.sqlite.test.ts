import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { blocksToRun } from '../docs/command-blocks.ts';
import { Workspace } from '../support/cluster/workspace.ts';
import { testWith } from '../support/installed-programs.ts';
import { DocumentShell, expectSample } from './document-shell.ts';

const test = testWith('curl');
const OPERATORS = 'docs/operators.md';
const RECOVERY = 'docs/recovery.md';

/** documents.postgres.test.ts runs those that need PostgreSQL. */
const OF_POSTGRES = /createdb|pg_dump|pds roles/;

let workspace: Workspace;
let shell: DocumentShell;
/** The public id of the issued key; `WRITTEN_KEY_ID` is the one in the documents. */
let keyId: string;
const WRITTEN_KEY_ID = 'aHUQ44AN';

beforeAll(async () => {
  workspace = new Workspace();
  shell = await DocumentShell.create(workspace);
});
afterAll(() => workspace.close());

/** The first word after `mark`. */
const wordAfter = (mark: string, output: string): string => output.split(mark)[1]?.split(/[\s.,]/)[0] ?? '';

const from = (start: string, output: string): string => output.slice(output.indexOf(start));

describe('the commands in the documents, in the order in which an operator types them', { timeout: 120_000 }, () => {
  test('import the sample, and refuse what is wrong, with the messages that are shown', async () => {
    const { output, samples } = await shell.run(OPERATORS, 'npx pds import sample');
    expectSample(output, samples[0]);
    mkdirSync(join(shell.folder, 'wrong'));
    const lines = ['{"id":"sup_1","name":"Acme","website":7}', '{"id":"sup_2","nme":"Acme"}', 'not json'];
    for (let i = 4; i <= 15; i++)
      lines.push(`{"id":"sup_${i}","name":"Acme","states_served":"${i % 2 ? 'OH' : 'PA'}"}`);
    writeFileSync(join(shell.folder, 'wrong', 'suppliers.ndjson'), lines.join('\n'));
    const refused = samples.find((sample) => sample.startsWith('suppliers.ndjson:1'));
    // Including the numbers, which depend only on these lines.
    expect(await shell.shell('npx pds import wrong', 1)).toBe(`${refused?.trim()}\n`);
  });

  test('name what is wrong in the settings', async () => {
    const { output, samples } = await shell.run(OPERATORS, 'PDS_PROT=1', {}, 1);
    expectSample(output, samples[0]);
  });

  test('make a partner, and issue, rotate and find its keys', async () => {
    const partner = await shell.run(OPERATORS, 'npx pds partner create acme');
    expectSample(from('name ', partner.output), partner.samples[0]);
    const issued = await shell.run(OPERATORS, 'KEY=$(npx pds key issue');
    keyId = wordAfter('Key ', issued.output);
    expectSample(issued.output.replaceAll(keyId, WRITTEN_KEY_ID), issued.samples[0]);
    const rotated = await shell.run(OPERATORS, 'npx pds key rotate', { [WRITTEN_KEY_ID]: keyId });
    const newId = wordAfter('pds_test_', rotated.output).split('_')[0] ?? '';
    const renamed = rotated.output.replaceAll(keyId, WRITTEN_KEY_ID).replaceAll(newId, 'fK1JIk95');
    expectSample(from('KEY ID', renamed), rotated.samples[0]);
    const key = (await shell.shell('npx pds key issue acme 2>/dev/null')).trim();
    const found = await shell.run('SECURITY.md', 'git log -p', { 'git log -p': `echo 'curl -H "Bearer ${key}"'` });
    expectSample(found.output.replaceAll(key.split('_')[2] ?? '', 'BZ7dzp6n'), found.samples[0]);
  });

  test('serve in each of the ways, and tell that it is ready', async () => {
    await shell.serve(OPERATORS, 'npx pds serve', async () => {
      const { output, samples } = await shell.run(OPERATORS, 'curl http', { 'curl ': 'curl -sS ' });
      expectSample(output, samples[0]);
    });
    await shell.serve(OPERATORS, 'node_modules/.bin/node src/main.js serve');
    await shell.serve(OPERATORS, 'npx pds serve --workers 4');
    await shell.serve(OPERATORS, 'OTEL_EXPORTER_OTLP_ENDPOINT');
    await shell.serve('README.md', 'export PDS_DATABASE_URL');
  });

  test("give the README's answer to the README's request", async () => {
    await shell.serveWith('PDS_DATABASE_URL=sqlite:data/demo.sqlite npx pds serve --demo', async () => {
      const { output, samples } = await shell.run('README.md', 'curl -H', { 'curl ': 'curl -sS ' });
      const [answer, shown] = [output, samples[0] ?? ''].map((text) => JSON.parse(text) as Answer);
      for (const record of [...(answer?.data ?? []), ...(shown?.data ?? [])]) record.updated_at = '';
      expect(answer?.data).toEqual(shown?.data);
      expect(Object.keys(answer?.meta ?? {})).toEqual(Object.keys(shown?.meta ?? {}));
    });
  });

  test('look at what was done, used and may be wrong', async () => {
    const headings = (output: string): string[] =>
      output.split('\n').filter((line) => /^(AT|PARTNER|KEY ID) /.test(line));
    const audit = await shell.run(OPERATORS, 'npx pds audit');
    expectSample(headings(audit.output).join('\n'), headings(audit.samples[0] ?? '').join('\n'));
    for (const action of ['partner create', 'partner grant', 'key issue']) expect(audit.output).toContain(action);
    const usage = await shell.run(OPERATORS, 'npx pds usage');
    expectSample(headings(usage.output).join('\n'), headings(usage.samples[0] ?? '').join('\n'));
    const { output } = await shell.run(OPERATORS, 'npx pds check');
    for (const line of output.trimEnd().split('\n')) expect(line).toMatch(/^(ok|WARN) +\S.*: /);
  });

  test('back up and restore, with the messages that are shown', async () => {
    const backup = await shell.run(RECOVERY, 'npx pds backup');
    expectSample(backup.output, backup.samples[0]);
    await shell.shell(`npx pds key revoke ${keyId}; npx pds partner suspend acme; npx pds partner create late`);
    const restored = await shell.run(RECOVERY, 'npx pds restore');
    expectSample(restored.output.replaceAll(keyId, '9cWnQIqm'), restored.samples[0]);
    await shell.run(OPERATORS, 'npx pds backup backups/today');
  });
});

interface Answer {
  data: { updated_at: string }[];
  meta: object;
}

test('every block that can be run on SQLite was run', () => {
  const expected = blocksToRun().filter((block) => !OF_POSTGRES.test(block));
  expect(shell.ran.sort()).toEqual(expected.sort());
});

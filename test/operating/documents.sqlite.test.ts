import { mkdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { blocksRunBy } from '../docs/command-blocks.ts';
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { DocumentShell, expectSample } from './document-shell.ts';

const test = testWith('curl');
const START = 'docs/operators/README.md';
const PARTNERS = 'docs/operators/partners-and-keys.md';
const MONITORING = 'docs/operators/monitoring.md';
const RECOVERY = 'docs/operators/backup-and-recovery.md';
const UNDOING = 'docs/operators/undo-an-import.md';

/** The public id of the issued key; `WRITTEN_KEY_ID` is the one in the documents. */
let keyId: string;
const WRITTEN_KEY_ID = 'aHUQ44AN';

const shell = forAllTests(() => DocumentShell.create());

/** The first word after `mark`. */
const wordAfter = (mark: string, output: string): string => output.split(mark)[1]?.split(/[\s.,]/)[0] ?? '';

const from = (start: string, output: string): string => output.slice(output.indexOf(start));

describe('the commands in the documents, in an order in which an operator types them', { timeout: 120_000 }, () => {
  test('import the sample, and refuse a malformed file, with the documented output', async () => {
    const { output, samples } = await shell.run('docs/operators/importing.md', 'npx pds import sample');
    expectSample(output, samples[0]);
    mkdirSync(join(shell.folder, 'wrong'));
    const lines = ['{"id":"sup_1","name":"Acme","website":7}'];
    for (let i = 2; i <= 13; i++)
      lines.push(`{"id":"sup_${i}","name":"Acme","states_served":"${i % 2 ? 'OH' : 'PA'}"}`);
    writeFileSync(join(shell.folder, 'wrong', 'suppliers.ndjson'), lines.join('\n'));
    const refused = samples.find((sample) => sample.startsWith('suppliers.ndjson:1'));
    // Including the numbers, which depend only on these lines.
    expect(await shell.shell('npx pds import wrong', 1)).toBe(`${refused?.trim()}\n`);
  });

  test('export the catalog, and undo an import in both ways', async () => {
    const exported = await shell.run(UNDOING, 'npx pds export');
    expect(exported.output).toContain('To undo later imports: pds import exports/2026-11-21 --replace\n');
    mkdirSync(join(shell.folder, 'bad'));
    writeFileSync(join(shell.folder, 'bad', 'coops.ndjson'), '{"id":"co_bad","name":"Bad"}');
    await shell.shell('npx pds import bad');
    const releases = await shell.run(UNDOING, 'npx pds releases');
    expectSample(releases.output, releases.samples[0]);
    const rolledBack = await shell.run(UNDOING, 'npx pds rollback', { rollback: 'rollback --yes' });
    expect(rolledBack.output).toMatch(/^Rolled back from release 2 to 1 at /m);
    expect(await shell.shell('npx pds find coop bad', 1)).not.toContain('co_bad');
    await shell.shell('npx pds rollback 2 --yes');
    const { output } = await shell.run(UNDOING, 'npx pds diff', {}, 1);
    expect(output).toContain('  - co_bad  Bad\n');
    await shell.run(UNDOING, 'npx pds import', { '--replace': '--replace --yes' });
    expect(await shell.shell('npx pds diff exports/2026-11-21 --replace')).toContain('Nothing was written.');
  });

  test('create a partner, and issue, rotate and find its keys', async () => {
    const partner = await shell.run(PARTNERS, 'npx pds partner create acme');
    expectSample(from('name ', partner.output), partner.samples[0]);
    const explained = await shell.run(PARTNERS, 'npx pds explain', {}, 1);
    expectSample(explained.output, explained.samples[0]);
    const issued = await shell.run(PARTNERS, 'KEY=$(npx pds key issue');
    keyId = wordAfter('Key ', issued.output);
    expect(issued.output).toContain('it cannot be shown again.');
    const rotated = await shell.run(PARTNERS, 'npx pds key rotate', { [WRITTEN_KEY_ID]: keyId });
    const newId = wordAfter('pds_test_', rotated.output).split('_')[0] ?? '';
    const listed = from('KEY ID', rotated.output).split('\n');
    expect(listed.find((line) => line.startsWith(keyId))).toContain(` ${newId} `);
    expect(listed.find((line) => line.startsWith(newId))).toMatch(/ billing *$/);
    const key = (await shell.shell('npx pds key issue acme 2>/dev/null')).trim();
    const log = { 'git log -p': `echo 'curl -H "Bearer ${key}"'` };
    const found = await shell.run('SECURITY.md', 'git log -p', log, 1);
    expectSample(found.output.replaceAll(key.split('_')[2] ?? '', 'BZ7dzp6n'), found.samples[0]);
  });

  test('serve in each documented way, and report readiness', async () => {
    await shell.serve(START, 'npx pds serve', async () => {
      const { output, samples } = await shell.run(MONITORING, 'curl http', { 'curl ': 'curl -sS ' });
      expectSample(output, samples[0]);
    });
    await shell.serve(START, 'node_modules/.bin/node src/main.js serve');
    await shell.serve('README.md', 'export PDS_DATABASE_URL');
  });

  test('find the line of a refused request in the log', async () => {
    const key = (await shell.shell('npx pds key issue acme 2>/dev/null')).trim();
    const id = key.split('_')[2] ?? '';
    await shell.shell(`npx pds key revoke ${id}`);
    let requestId = '';
    await shell.serveWith('npx pds serve > log', async () => {
      const headers = { authorization: `Bearer ${key}` };
      requestId = (await fetch(`${shell.origin}/v1/contracts`, { headers })).headers.get('x-request-id') ?? '';
    });
    const { output, samples } = await shell.run('docs/operators/troubleshooting.md', 'journalctl', {
      'journalctl -u partner-data-service -o cat': 'cat log',
      req_BXG06278fmqSRpo3OekZBA: requestId,
    });
    const [line, documented] = [output, samples[0] ?? ''].map((text) => JSON.parse(text) as Record<string, unknown>);
    expect(line).toEqual({
      ...documented,
      ...{ requestId, keyId: id, durationMs: expect.any(Number) as number, time: expect.any(Number) as number },
      ...{ pid: expect.any(Number) as number, hostname: hostname() },
    });
  });

  test("return the README's response to the README's request", async () => {
    await shell.serveWith('PDS_DATABASE_URL=sqlite:data/demo.sqlite npx pds serve --demo', async () => {
      const { output, samples } = await shell.run('README.md', 'curl -H', { 'curl ': 'curl -sS ' });
      const [answer, documented] = [output, samples[0] ?? ''].map((text) => JSON.parse(text) as Answer);
      for (const record of [...(answer?.data ?? []), ...(documented?.data ?? [])]) record.updated_at = '';
      expect(answer?.data).toEqual(documented?.data);
      expect(Object.keys(answer?.meta ?? {})).toEqual(Object.keys(documented?.meta ?? {}));
    });
  });

  test('show the audit trail, usage and findings', async () => {
    const headings = (output: string): string[] =>
      output.split('\n').filter((line) => /^(AT|PARTNER|KEY ID) /.test(line));
    const audit = await shell.run('docs/operators/security.md', 'npx pds audit');
    expectSample(headings(audit.output).join('\n'), headings(audit.samples[0] ?? '').join('\n'));
    for (const action of ['partner create', 'partner grant', 'key issue']) expect(audit.output).toContain(action);
    const usage = await shell.run(PARTNERS, 'npx pds usage');
    // The document shows the second table.
    expectSample(headings(usage.output).at(-1) ?? '', headings(usage.samples[0] ?? '').join('\n'));
    const { output } = await shell.run('docs/operators/troubleshooting.md', 'npx pds check');
    for (const line of output.trimEnd().split('\n')) expect(line).toMatch(/^(ok|WARN) +\S.*: /);
  });

  test('back up and restore', async () => {
    const backup = await shell.run(RECOVERY, 'npx pds backup');
    expect(backup.output).toContain('Backed up data/pds.sqlite to backups/2026-11-21: ');
    const restored = await shell.run(RECOVERY, 'npx pds restore');
    expect(restored.output).toContain("Every partner's next sync reads everything that it can see.\n");
  });
});

interface Answer {
  data: { updated_at: string }[];
  meta: object;
}

test('every block for SQLite was run', () => {
  expect(shell.ran).toEqual(blocksRunBy('documents.sqlite'));
});

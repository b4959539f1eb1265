import { hash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run, runNpm } from '../../client/test/support/programs.ts';
import { startSampleService } from '../../client/test/support/sample-service.ts';
import manifest from '../../client/package.json' with { type: 'json' };
import type { TestService } from '../support/service.ts';
import { PAGES, readText } from './site.ts';

const PACKAGE = `/docs/partner-data-client-${manifest.version}.tgz`;

let service: TestService;
let project: string;

beforeAll(async () => {
  service = await startSampleService();
  project = mkdtempSync(join(tmpdir(), 'pds-client-of-service-'));
}, 60_000);
afterAll(async () => {
  rmSync(project, { recursive: true, force: true });
  await service.close();
});

test("the client's README runs in a new project that installs the client from the service", async () => {
  await runNpm(['init', '-y'], project);
  await runNpm(['install', `${service.url}${PACKAGE}`], project);
  const readme = readText('client/README.md');
  const [, snippet = ''] = /```ts\n([^`]+)```/.exec(readme) ?? [];
  writeFileSync(join(project, 'first.mts'), snippet.replace('http://127.0.0.1:8080', service.url));
  const env = { PARTNER_DATA_KEY: service.partner('all').key };
  expect(await run(process.execPath, ['first.mts'], { cwd: project, env })).toMatch(/^ctr_\S+ .*asphalt/im);
}, 60_000);

test('the portal shows the integrity that npm records', async () => {
  const response = await fetch(`${service.url}${PACKAGE}`);
  const integrity = `sha512-${hash('sha512', Buffer.from(await response.arrayBuffer()), 'base64')}`;
  expect(PAGES.get('/docs/guides/first-request')).toContain(integrity);
  expect(readFileSync(join(project, 'package-lock.json'), 'utf8')).toContain(integrity);
});

test('every document installs the version of the client that the service hands out', () => {
  for (const file of ['client/README.md', 'client/MIRROR.md', 'docs/partner-guide/first-request.md']) {
    const named = readText(file).match(/\/docs\/partner-data-client-[\w.]+\.tgz/g) ?? [];
    expect(new Set(named), file).toEqual(new Set([PACKAGE]));
  }
});

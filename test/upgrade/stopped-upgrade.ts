import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { runPds, runPdsOf, type Outcome } from '../commands/run-pds.ts';
import { createClient, type Client } from '../support/client.ts';
import { SMALL_CATALOG, withImportDirectory, type ImportLines } from '../support/publishing.ts';
import { startServing, startServingOf, type Serving } from '../support/serving-process.ts';
import type { DatabaseConfig } from '../../src/config.ts';
import { databaseUrlOf } from '../commands/run-pds.ts';
import { takeOutVersionBefore } from './version-before.ts';

const PATHS = [
  '/v1/contracts',
  '/v1/contracts?limit=1',
  '/v1/contracts/ctr_2',
  '/v1/solicitations/count',
  '/v1/changes',
];

/** How long a service responds from memory while it cannot read the database, with a margin for a busy machine. */
const GRACE_MS = 30_000 + 10_000;

/**
 * Takes a database of version 1.3 over: a service of that version that still runs never responds with anything else than
 * before, and in the end with errors only; one of this version continues its watermarks, cursors and removals.
 */
export async function upgradeStopped(folder: string, config: DatabaseConfig): Promise<void> {
  const before = takeOutVersionBefore(folder);
  const settings = { PDS_DATABASE_URL: databaseUrlOf(config) };
  const pds = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runPdsOf(before, words, settings);
    expect(code, stderr).toBe(0);
    return stdout.trim();
  };
  const publish = (lines: ImportLines) =>
    withImportDirectory(lines, (directory) => pds('import', directory, '--replace', '--yes'));
  await publish(SMALL_CATALOG);
  await pds('partner', 'create', 'acme');
  await pds('partner', 'grant', 'acme', '--lead-entity', 'le_a', '--lead-entity', 'le_b');
  const key = await pds('key', 'issue', 'acme');

  let serving = startServingOf(before, { ...settings, PDS_PORT: '0' });
  let client = createClient(`http://127.0.0.1:${await serving.port()}`);
  const first = await client.get('/v1/contracts?limit=1', { key });
  const { next_cursor: cursor } = (JSON.parse(first.body) as { meta: { next_cursor: string } }).meta;
  const rest = `/v1/contracts?limit=1&cursor=${cursor}`;
  const restBefore = await client.get(rest, { key });
  const watermark = String(first.headers['x-sync-watermark']);
  await publish({ ...SMALL_CATALOG, contracts: SMALL_CATALOG.contracts.slice(1) });
  const since = `/v1/changes?updated_since=${watermark}`;
  while (!(await client.get(since, { key })).body.includes('"removed":true')) await delay(50);
  // It is in the cache of 1.3 for up to half a second longer.
  while ((await client.get('/v1/contracts?limit=1', { key })).body === first.body) await delay(50);
  const changesBefore = (await client.get(since, { key })).body;
  const responses = new Map<string, string>();
  for (const path of PATHS) responses.set(path, (await client.get(path, { key })).body);
  // Terms of the index are added by a release that changes no record.
  const withoutWatermark = (body = ''): string => body.replace(/"watermark":"[^"]*"/, '');

  const migrate = () => runPds(['migrate'], settings);
  const isSqlite = config.engine === 'sqlite';
  if (isSqlite) {
    // Nobody can have the files open, so the service continues.
    const refused = expect.stringContaining('is open in another process') as string;
    expect(await migrate()).toMatchObject({ code: 1, stderr: refused });
    for (const path of PATHS) expect((await client.get(path, { key })).body, path).toBe(responses.get(path));
  } else {
    expectDone(await migrate());
    await refuseInTheEnd(client, key, responses);
  }
  client.close();
  await stop(serving);
  if (isSqlite) expectDone(await migrate());
  // It does not start again either.
  const again = await runPdsOf(before, ['partner', 'list'], settings);
  const reason = isSqlite ? 'Nothing was created' : 'supports only 8';
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining(reason) as string });

  serving = startServing(config);
  client = createClient(`http://127.0.0.1:${await serving.port()}`);
  try {
    for (const path of PATHS) {
      const { body } = await client.get(path, { key });
      expect(withoutWatermark(body), path).toBe(withoutWatermark(responses.get(path)));
    }
    expect(withoutWatermark((await client.get(since, { key })).body)).toBe(withoutWatermark(changesBefore));
    const listed = await client.get(`/v1/contracts?updated_since=${watermark}`, { key });
    expect(JSON.parse(listed.body)).toMatchObject({ data: [] });
    expect((await client.get(rest, { key })).headers['x-sync-watermark']).toBe(restBefore.headers['x-sync-watermark']);
  } finally {
    client.close();
    await stop(serving);
  }
}

/** Requests until everything fails, and everything that was there before then is right. */
async function refuseInTheEnd(client: Client, key: string, responses: ReadonlyMap<string, string>): Promise<void> {
  const startedAtMs = performance.now();
  for (;;) {
    let failed = 0;
    for (const [path, expected] of responses) {
      const { status, body } = await client.get(path, { key });
      if (status === 500) failed += 1;
      else expect({ path, status, body }).toEqual({ path, status: 200, body: expected });
    }
    if (failed === responses.size) return;
    expect(performance.now() - startedAtMs).toBeLessThan(GRACE_MS);
    await delay(100);
  }
}

function expectDone({ code, stderr }: Outcome): void {
  expect(code, stderr).toBe(0);
}

async function stop(serving: Serving): Promise<void> {
  serving.kill('SIGTERM');
  await serving.exited;
}

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { runPds, runPdsOf, type Outcome } from '../commands/run-pds.ts';
import { createClient, dataOf, listAllPages, nextCursorOf, type Client } from '../support/client.ts';
import { startNginx } from '../support/cluster/nginx.ts';
import { ServicePart } from '../support/cluster/service.ts';
import type { Workspace } from '../support/cluster/workspace.ts';
import { findLastingPort } from '../support/free-port.ts';
import { contract, SMALL_CATALOG, solicitation, withImportDirectory, type ImportLines } from '../support/publishing.ts';
import { takeOutVersionBefore, VERSION_BEFORE } from './version-before.ts';

const CLIENTS = 2;

/** Every endpoint. */
const LISTS = ['contracts', 'suppliers', 'solicitations', 'certifications', 'lead-entities', 'city-services', 'coops'];
const RECORDS = [
  'contracts/ctr_1',
  'suppliers/sup_1',
  'solicitations/sol_1',
  'solicitations/2',
  'solicitations/count?q=paving',
];

/** One second, plus a margin for a machine busy with other tests. */
const MAX_STALE_MS = 1_000 + 2_000;

/** How long nginx can skip a failed service. */
const LEFT_OUT_MS = 12_000;

const [, otherSolicitation] = SMALL_CATALOG.solicitations;

const CHANGED: ImportLines = {
  ...SMALL_CATALOG,
  suppliers: SMALL_CATALOG.suppliers.map((record) => ({ ...record, name: `${record.name}, renamed` })),
  contracts: [contract('ctr_1'), contract('ctr_3')],
  solicitations: [{ ...solicitation('sol_1', 1), title: 'A new title' }, otherSolicitation, solicitation('sol_3', 3)],
};

/** The records in the feed after that, and whether as removed. The first contract embeds a renamed supplier. */
const CHANGES = [
  ...['contracts ctr_1', 'contracts ctr_2 removed', 'contracts ctr_3', 'solicitations sol_1', 'solicitations sol_3'],
  ...['suppliers sup_1', 'suppliers sup_2'],
];

interface ChangesPage {
  readonly data: readonly { readonly kind: string; readonly id: string; readonly removed?: boolean }[];
  readonly meta: { readonly reset: boolean };
}

/** The responses of all endpoints, lists in full, by request. */
type Answers = Record<string, unknown>;

/**
 * Replaces two servers of the version before, which serve an empty database, by those of this one, while clients compare
 * every response with what was imported, and a watermark and a cursor of the version before stay valid.
 */
export async function upgradeRolling(workspace: Workspace, databaseUrl: string): Promise<void> {
  const before = takeOutVersionBefore(workspace.folder);
  const manifest = JSON.parse(readFileSync(join(dirname(before), '..', 'package.json'), 'utf8')) as { version: string };
  expect(manifest.version).toBe(VERSION_BEFORE.version);
  const settings = { PDS_DATABASE_URL: databaseUrl, PDS_REQUESTS_PER_MINUTE: '1000000' };
  const pds = async (...words: string[]): Promise<Outcome> => expectDone(await runPdsOf(before, words, settings));
  await pds('migrate');
  await withImportDirectory(SMALL_CATALOG, (directory) => pds('import', directory));
  await pds('partner', 'create', 'acme', '--everything');
  const key = (await pds('key', 'issue', 'acme')).stdout.trim();
  const ports = [await findLastingPort(), await findLastingPort()];
  const services = ports.map((port) => new ServicePart(workspace, port, settings));
  for (const service of services) await service.start(before);
  const nginx = await startNginx(workspace, ports);
  const client = createClient(nginx.url, nginx.tls);
  const ask = (): Promise<Answers> => askAll(client, key);

  const first = await client.get('/v1/contracts?limit=1', { key });
  const watermark = String(first.headers['x-sync-watermark']);
  const cursor = nextCursorOf(first);
  const expectContinued = async (): Promise<void> => {
    const { body } = await client.get(`/v1/changes?updated_since=${watermark}`, { key });
    const { data, meta } = JSON.parse(body) as ChangesPage;
    const named = data.map(({ kind, id, removed = false }) => `${kind} ${id}${removed ? ' removed' : ''}`);
    expect([meta.reset, named.toSorted()]).toEqual([false, CHANGES]);
    const rest = await client.get(`/v1/contracts?limit=1&cursor=${cursor}`, { key });
    const logged = services.flatMap((service) => service.output().split('\n'));
    const errors = logged.filter((line) => line.includes('"level":50')).join('\n');
    expect([rest.status, rest.headers['x-sync-watermark']], rest.body + errors).toEqual([200, watermark]);
  };

  const old = await ask();
  let changed: Answers | null = null;
  let changedAtMs = Number.POSITIVE_INFINITY;
  let rounds = 0;
  const over = new AbortController();
  const asking = Array.from({ length: CLIENTS }, async () => {
    while (!over.signal.aborted) {
      const askedAtMs = performance.now();
      const answers = await ask();
      rounds += 1;
      if (performance.now() < changedAtMs) expect(answers).toEqual(old);
      // Fields that this version added are allowed.
      else if (askedAtMs > changedAtMs + MAX_STALE_MS) expect(answers).toMatchObject(changed ?? {});
    }
  });
  const askedMeanwhile = async (): Promise<void> => {
    const enough = rounds + CLIENTS;
    while (rounds < enough) await Promise.race([delay(20), ...asking]);
  };
  const change = async (): Promise<void> => {
    await askedMeanwhile();
    expectDone(await runPds(['migrate'], settings));
    await askedMeanwhile();
    changedAtMs = performance.now();
    const words = ['--replace', '--yes'];
    await withImportDirectory(CHANGED, async (directory) =>
      expectDone(await runPds(['import', directory, ...words], settings)),
    );
    await delay(MAX_STALE_MS);
    changed = await ask();
    expect(changed).toMatchObject({
      'solicitations/sol_1': { title: 'A new title' },
      'solicitations/count?q=paving': { total: 3 },
      contracts: [{ id: 'ctr_1' }, { id: 'ctr_3' }],
    });
    changedAtMs = performance.now();
    // First restart the previous version, as after a crash, then start this one, each while the other service responds.
    for (const main of [before, undefined]) {
      for (const service of services) {
        expect(await service.stop()).toEqual([0, null]);
        await askedMeanwhile();
        await service.start(main);
        await delay(LEFT_OUT_MS);
        await askedMeanwhile();
        await expectContinued();
      }
    }
  };
  try {
    await Promise.all([...asking, change().finally(() => over.abort())]);
  } finally {
    client.close();
    for (const service of services) if (service.isRunning()) await service.stop();
  }
}

/** Requests every endpoint; lists one record at a time, so that a listing moves from service to service. */
async function askAll(client: Client, key: string): Promise<Answers> {
  const answers: Answers = {};
  for (const list of LISTS) {
    const pages = await listAllPages(client.get, `/v1/${list}`, key, [1]);
    for (const { status, body } of pages) expect(status, body).toBe(200);
    answers[list] = dataOf(...pages);
  }
  for (const record of RECORDS) {
    const { status, body } = await client.get(`/v1/${record}`, { key });
    expect(status, body).toBe(200);
    answers[record] = JSON.parse(body);
  }
  return answers;
}

function expectDone(outcome: Outcome): Outcome {
  expect(outcome, outcome.stderr).toMatchObject({ code: 0 });
  return outcome;
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { recordNight } from '../../bench/measure/nights.ts';
import { grant, revoke } from '../../src/access/grant-admin.ts';
import { issueKey, revokeKey } from '../../src/access/key-admin.ts';
import type { DatabaseConfig } from '../../src/config.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { openForCommands } from '../../src/database/open.ts';
import { migrate } from '../../src/database/migrations/migrator.ts';
import { databaseUrlOf, runPds } from '../commands/run-pds.ts';
import { createClient } from '../support/client.ts';
import { findFreePort } from '../support/free-port.ts';
import { makePartner } from '../support/partners.ts';
import { withImportDirectory, type ImportLines } from '../support/publishing.ts';
import { startServing } from '../support/serving-process.ts';
import { beFollower, beMixedClient, type Soak } from './clients.ts';
import { growthOf, heldBy, summarizeMinutes, type Held } from './watch.ts';
import { allIds, LEAD_ENTITIES, STALE_MS, World } from './world.ts';

/*
 * A program that runs the service for a long time under everything partners and operators do, and checks every response
 * and the resources of the processes. Exits with 1 if anything was wrong.
 */

const WATCH_MS = 2_000;
const IMPORT_PAUSE_MS = 2_500;
const ACCESS_PAUSE_MS = 3_000;
const CHANGED_AT_ONCE = 60;

/** The memory growth that counts as flat, which allows for uncollected garbage. Short runs do not check it. */
const MAX_GROWTH_MB = 40;
const LONG_MINUTES = 5;

const { minutes, postgres, processes } = new Command('soak')
  .addOption(new Option('--minutes <n>').default(20).argParser(positive))
  .addOption(new Option('--processes <n>', 'on one port').default(2).argParser(positive))
  .option('--postgres <url>', 'an empty database in place of a SQLite file of its own')
  .parse()
  .opts<{ minutes: number; processes: number; postgres?: string }>();

const folder = mkdtempSync(join(tmpdir(), 'pds-soak-'));
const config: DatabaseConfig =
  postgres === undefined
    ? { engine: 'sqlite', path: join(folder, 'pds.sqlite') }
    : { engine: 'postgres', url: postgres };
const database = openForCommands(config);
await migrate(database, Date.now);

const world = new World();
await importLines({
  'lead-entities': LEAD_ENTITIES.map((id) => ({ id, name: id })),
  suppliers: [{ id: 'sup_1', name: 'Supplier' }],
});
await change(allIds());
const { key } = await makePartner(database, Date.now, { name: 'everything', everything: true });
await makePartner(database, Date.now, { name: 'changing', leadEntities: [LEAD_ENTITIES[0] ?? ''] });

// A log line for each request would fill this process's memory.
const port = await findFreePort();
const services = Array.from({ length: processes }, () =>
  startServing(config, { PDS_LOG_LEVEL: 'warn' }, '--reuse-port', '--port', String(port)),
);
const pids = services.map(({ pid }) => pid);
const problems = new Map<string, number>();
const problem = (text: string): void => void problems.set(text, (problems.get(text) ?? 0) + 1);
const url = `http://127.0.0.1:${port}`;
const soak: Soak = { url, world, key, isOver: false, asked: {}, responses: [], problem };
const held: Held[] = [];
let imports = 0;
let startedMs = 0;
try {
  await untilReady(url);
  const idle = heldBy(pids);
  startedMs = idle.atMs;
  const running = [
    ...Array.from({ length: 6 }, () => beMixedClient(soak, false)),
    ...Array.from({ length: 2 }, () => beMixedClient(soak, true)),
    beFollower(soak),
    changeAccess(soak, database),
    untilOver(soak, IMPORT_PAUSE_MS, async () => {
      await change(some(allIds(), CHANGED_AT_ONCE));
      imports += 1;
    }),
    untilOver(soak, WATCH_MS, () => Promise.resolve(void held.push(heldBy(pids)))),
  ];
  // A task that ends early has failed.
  await Promise.race([delay(minutes * 60_000), ...running.map((one) => one.then(() => undefined))]);
  soak.isOver = true;
  await Promise.all(running);
  await delay(STALE_MS);
  const after = heldBy(pids);
  const grownMb = growthOf(held.map(({ residentMb }) => residentMb));
  if (minutes >= LONG_MINUTES && grownMb > MAX_GROWTH_MB) problem(`memory grew by ${grownMb} MB`);
  // The first requests open database connections and similar.
  if (minutes >= LONG_MINUTES && growthOf(held.map(({ descriptors }) => descriptors)) > 2) problem('descriptors grew');
  const max = Math.max(...held.map(({ residentMb }) => residentMb));
  const bound = `memory of ${processes} processes, soak`;
  recordNight({ bound, engine: config.engine, unit: 'MB', max, trials: held.length });
  process.stdout.write(`${JSON.stringify({ minutes, requests: soak.asked, idle, after, grownMb })}\n`);
} finally {
  for (const service of services) {
    service.kill('SIGTERM');
    const [code] = await service.exited;
    if (code !== 0) problems.set(`a service ended with ${String(code)}`, 1);
    const said = service.output().match(/"level":(50|60).*/g) ?? [];
    if (said.length > 0) problems.set(`errors in the log: ${said[0]}`, said.length);
  }
  for (const [text, times] of problems) process.stderr.write(`${times} × ${text}\n`);
  await database.close();
  rmSync(folder, { recursive: true, force: true });
}
if (problems.size === 0) {
  const byMinute = summarizeMinutes(startedMs, minutes, held, soak.responses);
  recordNight({ engine: config.engine, processes, requests: soak.responses.length, imports, byMinute });
}
process.exit(problems.size > 0 ? 1 : 0);

/** Changes records by an import, as an operator does. */
async function change(ids: readonly string[]): Promise<void> {
  await importLines(world.change(ids));
  world.published(ids);
}

async function importLines(lines: ImportLines): Promise<void> {
  const { code, stderr } = await withImportDirectory(lines, (directory) =>
    runPds(['import', directory], { PDS_DATABASE_URL: databaseUrlOf(config) }),
  );
  if (code !== 0) throw new Error(`pds import ended with ${code}: ${stderr}`);
}

/** Grants and revokes, issues and revokes keys: each takes effect in time, and no other partner is affected. */
async function changeAccess(soak: Soak, opened: OpenDatabase): Promise<void> {
  const client = createClient(soak.url);
  const [always = '', sometimes = ''] = LEAD_ENTITIES;
  const leadEntities = [sometimes];
  while (!soak.isOver) {
    const issued = await issueKey(opened, Date.now, 'changing', { environment: 'test', lifetimeMs: null });
    for (const isGranted of [true, false]) {
      const changeGrants = isGranted ? grant : revoke;
      await changeGrants(opened, Date.now, 'changing', { everything: false, leadEntities, coops: [] });
      await delay(STALE_MS);
      const { status, body } = await client.get('/v1/solicitations?limit=12', { key: issued.key });
      const { data = [] } = JSON.parse(body) as { data?: { lead_entity: { id: string } }[] };
      const seen = [...new Set(data.map(({ lead_entity }) => lead_entity.id))].sort();
      const expected = isGranted ? [always, sometimes] : [always];
      if (status !== 200 || seen.join() !== expected.join())
        soak.problem(`granted ${expected.join()}: ${status}, ${seen.join()}`);
    }
    await revokeKey(opened, Date.now, issued.details.id);
    await delay(STALE_MS);
    const { status } = await client.get('/v1/coops', { key: issued.key });
    if (status !== 401) soak.problem(`${status} for a key that was revoked`);
    await delay(ACCESS_PAUSE_MS);
  }
  client.close();
}

async function untilOver(soak: Soak, pauseMs: number, work: () => Promise<void>): Promise<void> {
  while (!soak.isOver) {
    await work();
    await delay(pauseMs);
  }
}

/** Waits until every process has probably responded: the system gives each a share of the connections. */
async function untilReady(url: string): Promise<void> {
  const startedAtMs = performance.now();
  for (let answered = 0; answered < 8 * processes;) {
    const client = createClient(url);
    try {
      await client.get('/health');
      answered += 1;
    } catch (error) {
      if (performance.now() - startedAtMs > 60_000) throw error;
      await delay(100);
    } finally {
      client.close();
    }
  }
}

function some<T>(values: readonly T[], count: number): T[] {
  const start = Math.floor(Math.random() * values.length);
  const step = 1 + Math.floor(Math.random() * 40);
  return [...new Set(Array.from({ length: count }, (_, index) => values[(start + index * step) % values.length] as T))];
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('give a number above 0');
  return value;
}

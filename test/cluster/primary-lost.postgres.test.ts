import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import { openForCommands, type OpenDatabase } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrator.ts';
import { createClient, type Client } from '../support/client.ts';
import { startPrimary, startReplica, type PostgresPart, type ReplicaPart } from '../support/cluster/postgres.ts';
import { startServicePart } from '../support/cluster/service.ts';
import { Workspace } from '../support/cluster/workspace.ts';
import { testWith } from '../support/installed-programs.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

const test = testWith('postgresql');

/** What is promised, and what a busy machine may add to it. */
const FAILS_MS = 2_000;
const BACK_MS = 1_000;
const MARGIN_MS = 1_500;

let workspace: Workspace;
let primary: PostgresPart;
let standby: ReplicaPart;
/** The name under which the primary is reached, which moves to whichever server that is. */
let name: TcpProxy;
let database: OpenDatabase;
let client: Client;
let key: string;

beforeAll(async () => {
  workspace = new Workspace();
  primary = await startPrimary(workspace);
  name = await startTcpProxy({ port: primary.port });
  const url = new URL(primary.url);
  url.port = String(name.port);
  database = openForCommands({ engine: 'postgres', url: url.href });
  await migrate(database, Date.now);
  await publishLines(database, SMALL_CATALOG);
  ({ key } = await makePartner(database, Date.now, { name: 'acme', everything: true }));
  standby = await startReplica(workspace, 'standby', primary);
  client = createClient((await startServicePart(workspace, url.href)).url);
}, 60_000);
afterAll(async () => {
  client.close();
  await database.close();
  await name.close();
  await workspace.close();
});

/** What clients see who ask without a pause, each time for something else. */
interface Watched {
  /** Ends the watching. */
  end(): Promise<{ statuses: Map<number, number>; slowestFailureMs: number; lastFailureAtMs: number }>;
}

let asked = 0;

function watch(): Watched {
  const statuses = new Map<number, number>();
  let slowestFailureMs = 0;
  let lastFailureAtMs = 0;
  let isOver = false;
  const asking = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      const startedAt = performance.now();
      asked += 1;
      const { status } = await client.get(`/v1/contracts?q=w${asked}`, { key });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status !== 200) {
        lastFailureAtMs = performance.now();
        slowestFailureMs = Math.max(slowestFailureMs, lastFailureAtMs - startedAt);
        // Not faster than a program that tries again.
        await delay(5);
      }
    }
  });
  return {
    async end() {
      isOver = true;
      await Promise.all(asking);
      return { statuses, slowestFailureMs, lastFailureAtMs };
    },
  };
}

async function answersFrom(startedAtMs: number): Promise<void> {
  while ((await client.get(`/v1/contracts?q=back${(asked += 1)}`, { key })).status !== 200) {
    if (performance.now() - startedAtMs > 15_000) throw new Error('it does not answer again');
    await delay(20);
  }
}

test.each([
  ['restarted', (): Promise<void> => primary.restart()],
  [
    'killed and started again',
    async (): Promise<void> => {
      await primary.kill();
      await primary.start();
    },
  ],
  [
    'lost, and its standby promoted in its place',
    async (): Promise<void> => {
      await standby.catchUp();
      await primary.kill();
      await standby.query('select pg_promote()');
      name.moveTo(standby.port);
    },
  ],
])('while PostgreSQL is %s, failures are told in time, and end within a second', async (_, fault) => {
  await answersFrom(performance.now());
  const known = await client.get('/v1/coops', { key });
  expect(known.status).toBe(200);
  const watched = watch();
  await fault();
  const backAtMs = performance.now();
  expect((await client.get('/v1/coops', { key })).body).toBe(known.body);
  await answersFrom(backAtMs);
  await delay(500);
  const { statuses, slowestFailureMs, lastFailureAtMs } = await watched.end();
  expect([...statuses.keys()].filter((status) => status !== 200 && status !== 500)).toEqual([]);
  expect(statuses.get(200)).toBeGreaterThan(0);
  expect(slowestFailureMs).toBeLessThan(FAILS_MS + MARGIN_MS);
  expect(lastFailureAtMs - backAtMs).toBeLessThan(BACK_MS + MARGIN_MS);
});

test('the promoted one is written to as well, and what is published there is seen', async () => {
  await publishLines(database, { coops: [{ id: 'after', name: 'After the promotion' }] });
  const startedAt = performance.now();
  while (!(await client.get('/v1/coops', { key })).body.includes('After the promotion')) {
    if (performance.now() - startedAt > 5_000) throw new Error('it is not seen');
    await delay(20);
  }
});

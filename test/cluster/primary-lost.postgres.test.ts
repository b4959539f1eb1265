import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import { startStandbyPair, type StandbyPair } from '../support/cluster/standby-pair.ts';
import { testWith } from '../support/installed-programs.ts';
import { publishLines } from '../support/publishing.ts';

const test = testWith('postgresql');

/** The guaranteed times, and a margin for a busy machine. */
const FAILS_MS = 2_000;
const BACK_MS = 1_000;
const MARGIN_MS = 1_500;

let pair: StandbyPair;
beforeAll(async () => {
  pair = await startStandbyPair();
}, 60_000);
afterAll(() => pair.close());

/** The results of clients that send requests without pause, each for something new. */
interface Watched {
  /** Stops the clients. */
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
      const { status } = await pair.client.get(`/v1/contracts?q=w${asked}`, { key: pair.key });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status !== 200) {
        lastFailureAtMs = performance.now();
        slowestFailureMs = Math.max(slowestFailureMs, lastFailureAtMs - startedAt);
        // No faster than a client that retries.
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
  while ((await pair.client.get(`/v1/contracts?q=back${(asked += 1)}`, { key: pair.key })).status !== 200) {
    if (performance.now() - startedAtMs > 15_000) throw new Error('it does not answer again');
    await delay(20);
  }
}

test.each([
  ['restarted', (): Promise<void> => pair.primary.restart()],
  [
    'killed and started again',
    async (): Promise<void> => {
      await pair.primary.kill();
      await pair.primary.start();
    },
  ],
  [
    'lost, and its standby promoted in its place',
    async (): Promise<void> => {
      await pair.standby.catchUp();
      await pair.primary.kill();
      await pair.standby.query('select pg_promote()');
      pair.name.moveTo(pair.standby.port);
    },
  ],
])('while PostgreSQL is %s, failures are told in time, and end within a second', async (_, fault) => {
  await answersFrom(performance.now());
  const known = await pair.client.get('/v1/coops', { key: pair.key });
  expect(known.status).toBe(200);
  const watched = watch();
  await fault();
  const backAtMs = performance.now();
  expect((await pair.client.get('/v1/coops', { key: pair.key })).body).toBe(known.body);
  await answersFrom(backAtMs);
  await delay(500);
  const { statuses, slowestFailureMs, lastFailureAtMs } = await watched.end();
  expect([...statuses.keys()].filter((status) => status !== 200 && status !== 500)).toEqual([]);
  expect(statuses.get(200)).toBeGreaterThan(0);
  expect(slowestFailureMs).toBeLessThan(FAILS_MS + MARGIN_MS);
  expect(lastFailureAtMs - backAtMs).toBeLessThan(BACK_MS + MARGIN_MS);
});

test('the promoted one is written to as well, and what is published there is seen', async () => {
  await publishLines(pair.database, { coops: [{ id: 'after', name: 'After the promotion' }] });
  const startedAt = performance.now();
  while (!(await pair.client.get('/v1/coops', { key: pair.key })).body.includes('After the promotion')) {
    if (performance.now() - startedAt > 5_000) throw new Error('it is not seen');
    await delay(20);
  }
});

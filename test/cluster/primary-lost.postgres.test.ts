import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { startStandbyPair } from '../support/cluster/standby-pair.ts';
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { timeUntil } from '../support/time-until.ts';
import { publishLines } from '../support/publishing.ts';

const test = testWith('postgresql');

/** The guaranteed times, and a margin for a busy machine. */
const FAILS_MS = 2_000;
const BACK_MS = 1_000;
const MARGIN_MS = 1_500;

const pair = forAllTests(startStandbyPair);

/** The results of clients that send requests without pause, each for something new. */
interface Watched {
  /** Stops the clients. */
  end(): Promise<{ statuses: Map<number, number>; slowestFailureMs: number; lastFailureAtMs: number }>;
}

let sent = 0;

function watch(): Watched {
  const statuses = new Map<number, number>();
  let slowestFailureMs = 0;
  let lastFailureAtMs = 0;
  let isDone = false;
  const clients = Array.from({ length: 4 }, async () => {
    while (!isDone) {
      const startedAt = performance.now();
      sent += 1;
      const { status } = await pair.client.get(`/v1/contracts?q=w${sent}`, { key: pair.key });
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
      isDone = true;
      await Promise.all(clients);
      return { statuses, slowestFailureMs, lastFailureAtMs };
    },
  };
}

async function waitUntilServing(): Promise<void> {
  await timeUntil(
    async () => (await pair.client.get(`/v1/contracts?q=back${(sent += 1)}`, { key: pair.key })).status === 200,
  );
}

test.each([
  ['restarted', (): Promise<void> => pair.primary.restart()],
  [
    'killed and restarted',
    async (): Promise<void> => {
      await pair.primary.kill();
      await pair.primary.start();
    },
  ],
  [
    'lost, and its standby promoted',
    async (): Promise<void> => {
      await pair.standby.catchUp();
      await pair.primary.kill();
      await pair.standby.query('select pg_promote()');
      pair.name.moveTo(pair.standby.port);
    },
  ],
])('while PostgreSQL is %s, failures are reported in time and end within a second', async (_, fault) => {
  await waitUntilServing();
  const known = await pair.client.get('/v1/coops', { key: pair.key });
  expect(known.status).toBe(200);
  const watched = watch();
  await fault();
  const backAtMs = performance.now();
  expect((await pair.client.get('/v1/coops', { key: pair.key })).body).toBe(known.body);
  await waitUntilServing();
  await delay(500);
  const { statuses, slowestFailureMs, lastFailureAtMs } = await watched.end();
  expect([...statuses.keys()].filter((status) => status !== 200 && status !== 500)).toEqual([]);
  expect(statuses.get(200)).toBeGreaterThan(0);
  expect(slowestFailureMs).toBeLessThan(FAILS_MS + MARGIN_MS);
  expect(lastFailureAtMs - backAtMs).toBeLessThan(BACK_MS + MARGIN_MS);
});

test('releases published on the promoted primary are served, and nothing is called lost', async () => {
  await publishLines(pair.database, { coops: [{ id: 'after', name: 'After the promotion' }] });
  const isServed = async (): Promise<boolean> =>
    (await pair.client.get('/v1/coops', { key: pair.key })).body.includes('After the promotion');
  expect(await timeUntil(isServed)).toBeLessThan(5_000);
  expect(pair.service.output()).not.toContain('CHANGES ARE LOST');
});

import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, test } from 'vitest';
import { issueKey } from '../../src/access/key-admin.ts';
import { createPartner } from '../../src/access/partner-admin.ts';
import { readReadiness, scrape } from '../support/process/administrator.ts';
import { createClient } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startServing, type Serving } from '../support/serving-process.ts';

const WORKERS = 3;
const COOPS = 'pds_http_requests_total{route="/v1/coops",status="200",partner="acme"}';

let made: TestDatabase;
let key: string;
let serving: Serving;
let admin: number;
let port: number;

beforeAll(async () => {
  made = await createTestDatabase();
  await createPartner(made.database, Date.now, 'acme', { everything: true });
  ({ key } = await issueKey(made.database, Date.now, 'acme', { environment: 'test', lifetimeMs: null }));
});
afterAll(() => made.drop());

beforeEach(async () => {
  serving = startServing(made.config, {}, '--workers', String(WORKERS));
  await serving.said('all workers are serving');
  // Each worker buffers its log lines.
  await expect.poll(() => pidsOf('Server listening').size, { timeout: 10_000 }).toBe(WORKERS);
  [admin, port] = [await serving.adminPort(), await serving.port()];
});
afterEach(async () => {
  for (const pid of pidsOf('Server listening')) kill(pid, 'SIGCONT');
  serving.kill('SIGKILL');
  await serving.closed;
});

/** The processes that logged this message so far; ignores an incomplete last line. */
function pidsOf(message: string): Set<number> {
  const whole = serving.output().split('\n').slice(0, -1);
  return new Set(
    whole.filter((line) => line.includes(message)).map((line) => (JSON.parse(line) as { pid: number }).pid),
  );
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has exited.
  }
}

/** A worker serves this many requests that arrive together, however slow its first ones are. */
const AT_ONCE = 8;

/** Sends this many requests, each on its own connection, so that every worker gets some. */
async function ask(times: number): Promise<void> {
  for (let sent = 0; sent < times; sent += AT_ONCE) {
    const clients = Array.from({ length: Math.min(AT_ONCE, times - sent) }, () =>
      createClient(`http://127.0.0.1:${port}`),
    );
    const responses = await Promise.all(clients.map((client) => client.get('/v1/coops', { key })));
    for (const { status } of responses) expect(status).toBe(200);
    for (const client of clients) client.close();
  }
}

describe('the admin port of the primary process', () => {
  test('sums the requests of all workers, and reports that all of them serve', async () => {
    await ask(60);
    const samples = await scrape(admin);
    expect(samples.get(COOPS)).toBe(60);
    expect(samples.get('pds_http_request_duration_seconds_count{route="/v1/coops"}')).toBe(60);
    expect(samples.get('pds_http_request_duration_seconds_bucket{le="+Inf",route="/v1/coops"}')).toBe(60);
    expect(samples.get('pds_workers')).toBe(WORKERS);
    expect(samples.get('pds_workers_serving')).toBe(WORKERS);
    expect(samples.get('pds_ready')).toBe(1);
    expect(samples.get('process_start_time_seconds')).toBeGreaterThan(Date.now() / 1000 - 300);
    expect(await readReadiness(admin)).toMatchObject({ status: 200, reasons: [], degradations: [] });
  });

  test('keeps the counts of a killed worker, and reports its replacement', async () => {
    await ask(60);
    expect((await scrape(admin)).get(COOPS)).toBe(60);
    await expect.poll(() => pidsOf('"request answered"').size, { timeout: 10_000 }).toBeGreaterThan(0);
    const [victim = 0] = pidsOf('"request answered"');
    kill(victim, 'SIGKILL');
    await serving.said('a worker is replaced');
    const after = await scrape(admin);
    expect(after.get(COOPS)).toBe(60);
    expect(after.get('pds_worker_replacements_total')).toBe(1);
    await expect.poll(async () => (await scrape(admin)).get('pds_workers_serving'), { timeout: 20_000 }).toBe(WORKERS);
    await ask(30);
    expect((await scrape(admin)).get(COOPS)).toBe(90);
    expect(await readReadiness(admin)).toMatchObject({ status: 200, degradations: [] });
  });

  test('responds in bounded time while a worker hangs, and includes it again once it is back', async () => {
    await ask(60);
    expect((await scrape(admin)).get(COOPS)).toBe(60);
    const [hanging = 0] = pidsOf('Server listening');
    kill(hanging, 'SIGSTOP');
    for (let time = 0; time < 5; time += 1) {
      const startedAt = performance.now();
      const samples = await scrape(admin);
      expect(performance.now() - startedAt).toBeLessThan(3_000);
      expect(samples.get(COOPS)).toBe(60);
      expect(samples.get('pds_ready')).toBe(1);
    }
    expect(await readReadiness(admin)).toMatchObject({
      status: 200,
      degradations: [`1 of ${WORKERS} workers do not respond`],
    });
    kill(hanging, 'SIGCONT');
    await expect.poll(async () => (await readReadiness(admin)).degradations, { timeout: 10_000 }).toEqual([]);
    expect((await scrape(admin)).get(COOPS)).toBe(60);
  });

  test('reports that no worker is ready if all of them hang', async () => {
    for (const pid of pidsOf('Server listening')) kill(pid, 'SIGSTOP');
    expect(await readReadiness(admin)).toMatchObject({
      status: 503,
      reasons: [`${WORKERS} of ${WORKERS} workers do not respond`],
    });
    expect((await scrape(admin)).get('pds_ready')).toBe(0);
  });
});

import { afterEach, beforeEach, describe, expect } from 'vitest';
import { issueKey } from '../../src/access/key-admin.ts';
import { setPartner } from '../../src/access/partner-admin.ts';
import { runPds } from '../commands/run-pds.ts';
import type { Client } from '../support/client.ts';
import { databaseForEachTest } from '../support/database.ts';
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { makePartner } from '../support/partners.ts';
import { contract, publishLines, SMALL_CATALOG, solicitation, withImportDirectory } from '../support/publishing.ts';
import { startServing, type Serving } from '../support/serving-process.ts';
import { Copy } from '../sync/copy.ts';
import { createSteppedClock } from './stepped-clock.ts';

const test = testWith('faketime');

const HOUR_MS = 3_600_000;

/** The offsets of the clock in hours, in the order the tests set them. */
const STEPS = [0, -24, 24, -24, 0];

/** A change must be noticed within 1 s; the rest is for a busy machine. */
const NOTICED_MS = 3_000;

let serving: Serving;
let client: Client;
let key: string;

const clock = forAllTests(createSteppedClock);
const made = databaseForEachTest();
beforeEach(async () => {
  clock.step(0);
  await publishLines(made.database, {
    ...SMALL_CATALOG,
    solicitations: [{ ...solicitation('sol_soon', 1), close_at: new Date(Date.now() + 12 * HOUR_MS).toISOString() }],
  });
  ({ key } = await makePartner(made.database, Date.now, { name: 'acme', everything: true }));
  serving = startServing(made.config, clock.environment);
  client = await serving.client();
});
afterEach(async () => {
  client.close();
  serving.kill('SIGTERM');
  expect(await serving.exited).toEqual([0, null]);
});

const statusOf = async (usedKey: string): Promise<number> => (await client.get('/v1/coops', { key: usedKey })).status;

describe('with a clock that steps a day back and forth', () => {
  test('release timestamps increase, and a sync receives every change once, and otherwise nothing', async () => {
    const timestamps: string[] = [];
    const copy = new Copy('contracts', key, client.get);
    expect(await copy.sync()).toBe(2);
    for (const [index, hours] of STEPS.entries()) {
      clock.step(hours);
      const changed = { ...contract('ctr_1'), name: `Contract as of step ${index}` };
      await withImportDirectory({ contracts: [changed] }, async (directory) => {
        const settings = { ...made.settings, ...clock.environment };
        const { code, stdout, stderr } = await runPds(['import', directory, '--json'], settings);
        expect(code, stderr).toBe(0);
        timestamps.push((JSON.parse(stdout) as { published_at: string }).published_at);
      });
      const startedAt = performance.now();
      while ((await copy.sync()) === 0) expect(performance.now() - startedAt).toBeLessThan(NOTICED_MS);
      expect(copy.records.get('ctr_1')).toMatchObject({ name: changed.name });
      expect(await copy.sync()).toBe(0);
    }
    expect(timestamps).toEqual([...new Set(timestamps)].sort());
    // The first two carry the machine's time, the third the stepped clock's, one day later, and the rest come just
    // after it.
    const dayLater = Date.parse(timestamps[2] ?? '');
    expect(Math.abs(dayLater - Date.now() - 24 * HOUR_MS)).toBeLessThan(60_000);
    expect(timestamps.slice(3).map((timestamp) => Date.parse(timestamp) - dayLater)).toEqual([2, 4]);
  }, 60_000);

  test('keys expire and is_open changes with the wall clock, immediately and in both directions', async () => {
    const { key: passing } = await issueKey(made.database, Date.now, 'acme', {
      environment: 'test',
      lifetimeMs: 12 * HOUR_MS,
    });
    for (const hours of [...STEPS, ...STEPS]) {
      clock.step(hours);
      expect(await statusOf(passing)).toBe(hours > 0 ? 401 : 200);
      expect(await statusOf(key)).toBe(200);
      for (const path of ['/v1/solicitations', '/v1/solicitations/sol_soon']) {
        // Twice, since responses are cached.
        for (let time = 0; time < 2; time += 1) {
          const { body } = await client.get(path, { key });
          expect(body).toContain(`"is_open":${hours > 0 ? 'false' : 'true'}`);
        }
      }
    }
  });

  test('limits reset after their minute, whatever the clock does', async () => {
    await setPartner(made.database, Date.now, 'acme', { requestsPerMinute: 5 });
    let left = 5;
    for (const hours of [...STEPS, ...STEPS]) {
      clock.step(hours);
      const { status, headers } = await client.get('/v1/coops', { key });
      left -= 1;
      expect(status).toBe(left >= 0 ? 200 : 429);
      expect(headers['ratelimit']).toMatch(new RegExp(`^"partner";r=${Math.max(0, left)};t=[1-6]?\\d$`));
      if (status !== 429) continue;
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60);
    }
  });
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect } from 'vitest';
import { issueKey } from '../../src/access/key-admin.ts';
import { runProgram } from '../commands/run-pds.ts';
import type { Client } from '../support/client.ts';
import { databaseForAllTests } from '../support/database.ts';
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { newFolder } from '../support/new-folder.ts';
import { makePartner } from '../support/partners.ts';
import { scrape } from '../support/process/administrator.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { startServing } from '../support/serving-process.ts';
import { createSteppedClock } from './stepped-clock.ts';

const test = testWith('faketime');
const ALERTS = fileURLToPath(new URL('../../ops/alerts.yml', import.meta.url));
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How long before a moment the processes are first observed. */
const LEAD_MS = 2_000;

/** The accuracy of the moved clock. */
const MARGIN_MS = 20;

interface Process {
  readonly client: Client;
  readonly admin: number;
}

let processes: Process[];
let key: string;
let keyId: string;
let endMs: number;

const clock = forAllTests(createSteppedClock);
const made = databaseForAllTests();
const opened = forAllTests(() => new AsyncDisposableStack());
beforeAll(async () => {
  await publishLines(made.database, SMALL_CATALOG);
  await makePartner(made.database, Date.now, { name: 'acme', everything: true });
  // At a whole second, as Prometheus's tests count.
  const clockInSeconds = (): number => Math.floor(Date.now() / 1000) * 1000;
  const issued = await issueKey(made.database, clockInSeconds, 'acme', {
    environment: 'test',
    lifetimeMs: 100 * DAY_MS,
  });
  ({ key } = issued);
  keyId = issued.details.id;
  endMs = Date.parse(issued.details.expiresAt ?? '');
  const start = async (): Promise<Process> => {
    const serving = opened.use(startServing(made.config, clock.environment));
    return { client: await serving.client(), admin: await serving.adminPort() };
  };
  processes = await Promise.all([start(), start()]);
}, 60_000);

/**
 * Sets the clock to just before a moment, and observes a process until after it: what is observed must be false before,
 * and true after.
 */
async function expectToBegin(momentMs: number, observe: (process: Process) => Promise<boolean>): Promise<void> {
  const sideNow = (): boolean | null =>
    Math.abs(clock.nowMs() - momentMs) < MARGIN_MS ? null : clock.nowMs() > momentMs;
  for (const process of processes) {
    const seen = new Set<boolean>();
    clock.step((momentMs - LEAD_MS - Date.now()) / HOUR_MS);
    while (seen.size < 2) {
      // Also again, if the machine was too busy to observe it before.
      if (!seen.has(false) && sideNow() !== false) clock.step((momentMs - LEAD_MS - Date.now()) / HOUR_MS);
      const side = sideNow();
      const observed = await observe(process);
      // The moment came meanwhile: both are right.
      if (side === null || side !== sideNow()) continue;
      expect(observed, `${clock.nowMs() - momentMs} ms after the moment`).toBe(side);
      seen.add(side);
    }
  }
}

const end = (): string => new Date(endMs).toISOString();

async function samplesOf({ admin }: Process): Promise<[string, number][]> {
  return [...(await scrape(admin))].filter(([name]) => name.startsWith('pds_key_expiry_timestamp_seconds'));
}

describe('two services with a clock that is moved', () => {
  test('announce the end of a key from 30 days before it on, to the second', async () => {
    await expectToBegin(endMs - 30 * DAY_MS, async ({ client }) => {
      const { status, headers } = await client.get('/v1/coops', { key });
      expect(status).toBe(200);
      const notice = headers['x-key-expires-at'];
      expect([undefined, end()]).toContain(notice);
      return notice !== undefined;
    });
  }, 120_000);

  test('refuse it from its end on, and no longer report it in the metrics, to the second', async () => {
    await expectToBegin(endMs, async ({ client }) => {
      const { status, headers } = await client.get('/v1/coops', { key });
      expect(headers['x-key-expires-at']).toBe(status === 401 ? undefined : end());
      return status === 401;
    });
    await expectToBegin(endMs, async (process) => {
      const samples = await samplesOf(process);
      for (const [name, value] of samples)
        expect([value, name]).toEqual([endMs / 1000, expect.stringContaining(keyId)]);
      expect(samples.length).toBeLessThan(2);
      return samples.length === 0;
    });
  }, 240_000);

  testWith('faketime', 'prometheus')('give an alert from 14 days before the end on, to the second', async () => {
    clock.step((endMs - 20 * DAY_MS - Date.now()) / HOUR_MS);
    // A minute before: the time of Prometheus's tests starts at 0.
    const startS = endMs / 1000 - 14 * 86_400 - 60;
    const series = [];
    for (const [index, process] of processes.entries()) {
      const [[name, value] = ['', 0]] = await samplesOf(process);
      series.push({
        series: name.replace('{', `{job="partner-data-service",instance="${index}",`),
        values: `${value - startS}x120`,
      });
    }
    const alertname = 'PartnerDataServiceKeyEnds';
    const exp_alerts = [
      {
        exp_labels: { severity: 'warning', job: 'partner-data-service', partner: 'acme', key_id: keyId },
        exp_annotations: {
          summary: `The key ${keyId} of acme ends in 13d 23h 59m 59s.`,
          description: `Nothing replaces it yet. Agree with the partner, then: pds key rotate ${keyId}`,
        },
      },
    ];
    const alert_rule_test = [
      { eval_time: '60s', alertname, exp_alerts: [] },
      { eval_time: '61s', alertname, exp_alerts },
    ];
    const tests = [{ name: 'an ending key', interval: '1s', input_series: series, alert_rule_test }];
    const path = join(newFolder(), 'tests.yml');
    // JSON is YAML.
    writeFileSync(path, JSON.stringify({ rule_files: [ALERTS], evaluation_interval: '1s', tests }));
    const { stdout, stderr } = await runProgram(['promtool', 'test', 'rules', path], {});
    expect(stdout + stderr).toContain('SUCCESS');
  });
});

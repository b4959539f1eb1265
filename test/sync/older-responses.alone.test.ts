import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { recordNight } from '../../bench/measure/nights.ts';
import { grant, revoke } from '../../src/access/grant-admin.ts';
import { issueKey, revokeKey } from '../../src/access/key-admin.ts';
import { resumePartner, setPartner, suspendPartner } from '../../src/access/partner-admin.ts';
import { createDatabaseOf } from '../support/database.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { numberOfRuns } from '../support/runs.ts';
import { startServing } from '../support/serving-process.ts';

/** Each of eight changes once, or 25 times. */
const TRIALS = Number(process.env['TRIALS'] ?? numberOfRuns({ usually: 8, nightly: 100 }));
const PROCESSES = 3;
/** A process shows a change once this many responses in sequence are not the older one. */
const NEWER_RESPONSES = 10;
const POLL_MS = 500;

test.each(['sqlite', 'postgres'] as const)(
  'no process responds with an older state a second after a commit, from its cache or not, on %s',
  async (engine) => {
    await using made = await createDatabaseOf(engine);
    await using opened = new AsyncDisposableStack();
    const { database } = made;
    await publishLines(database, { ...SMALL_CATALOG, coops: [...SMALL_CATALOG.coops, { id: 'co_y', name: 'Y' }] });
    let { key } = await makePartner(database, Date.now, { name: 'p', leadEntities: ['le_a'] });
    const everything = { everything: true, leadEntities: [], coops: [] };
    const changes: (() => Promise<unknown>)[] = [
      () => publishLines(database, { coops: [{ id: 'co_x', name: String(Date.now()) }] }),
      () => grant(database, Date.now, 'p', everything),
      () => revoke(database, Date.now, 'p', everything),
      () => suspendPartner(database, Date.now, 'p'),
      () => resumePartner(database, Date.now, 'p'),
      () => setPartner(database, Date.now, 'p', { kinds: ['contracts'] }),
      () => setPartner(database, Date.now, 'p', { kinds: null }),
      () => revokeKey(database, Date.now, key.split('_')[2] ?? ''),
    ];
    const clients = await Promise.all(
      Array.from({ length: PROCESSES }, () => opened.use(startServing(made.config)).client()),
    );
    let max = 0;
    for (let trial = 0; trial < TRIALS; trial += 1) {
      const read = async ({ get }: (typeof clients)[number]): Promise<string> => {
        const { status, body } = await get('/v1/coops', { key });
        return status === 200 ? body : String(status);
      };
      const [older, ...others] = await Promise.all(clients.map(read));
      expect(new Set(others)).toEqual(new Set([older]));
      // At any time between two polls of the service.
      await delay(Math.random() * POLL_MS);
      await changes[trial % changes.length]?.();
      const committedMs = performance.now();
      const pollUntilNewer = async (client: (typeof clients)[number]): Promise<void> => {
        for (let newer = 0; newer < NEWER_RESPONSES;) {
          const isOlder = (await read(client)) === older;
          const afterMs = performance.now() - committedMs;
          newer = isOlder ? 0 : newer + 1;
          if (isOlder) max = Math.max(max, afterMs);
          expect(afterMs, `change ${trial % changes.length}`).toBeLessThan(10_000);
          await delay(5);
        }
      };
      await Promise.all(clients.map(pollUntilNewer));
      if (trial % changes.length === changes.length - 1)
        ({ key } = await issueKey(database, Date.now, 'p', { environment: 'test', lifetimeMs: null }));
    }
    expect(max).toBeLessThan(1_000);
    recordNight({ bound: 'older state after a commit', engine, unit: 'ms', max: Math.ceil(max), trials: TRIALS });
  },
  TRIALS * 3_000 + 60_000,
);

import { afterEach, describe, expect, test } from 'vitest';
import { runMirror } from '../../src/mirror/mirror.ts';
import { readOptions, type MirrorOptions } from '../../src/mirror/options.ts';
import { NO_PROGRESS } from '../../src/mirror/progress.ts';
import type { SyncReport } from '../../src/mirror/sync.ts';
import { solicitation } from '../../../test/support/publishing.ts';
import { readCopy, STORES, storeOptions } from './support/copies.ts';
import { firstCatalog } from './support/histories.ts';
import { MirroredService } from './support/mirrored-service.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let service: MirroredService;
afterEach(() => service.close());

const start = async (catalog = firstCatalog()): Promise<void> => {
  service = await MirroredService.start(catalog, { name: 'acme', everything: true }, { pageSize: 100 });
};

function optionsOf(args: readonly string[]): MirrorOptions {
  const environment = { PARTNER_DATA_URL: service.pages.url, PARTNER_DATA_KEY: service.key };
  const options = readOptions(args, environment);
  if (typeof options === 'string') throw new Error(options);
  return options;
}

/** Runs one sync with a clock that is `aheadMs` ahead of the service's. */
async function mirror(args: readonly string[], aheadMs: number): Promise<SyncReport> {
  let report: SyncReport | undefined;
  const never = new AbortController().signal;
  service.pages.passed = [];
  await runMirror(optionsOf(args), {
    stop: never,
    abort: never,
    progress: NO_PROGRESS,
    tell: () => undefined,
    onReport: (received) => {
      report = received;
    },
    onFailure: () => undefined,
    clock: () => Date.now() + aheadMs,
  });
  if (report === undefined) throw new Error('no sync was reported');
  return report;
}

test('NDJSON files with is_open written by a fast clock are corrected once the clock is right', async () => {
  await start();
  const args = storeOptions('ndjson', service.folder);
  await mirror(args, 100 * 365 * DAY_MS);
  const isOpen = (): unknown[] => {
    const { solicitations, details } = readCopy('ndjson', service.folder);
    return [solicitations.get('sol_2')?.['is_open'], details.get('sol_2')?.['is_open']];
  };
  expect(isOpen()).toEqual([false, false]);
  await mirror(args, 0);
  expect(isOpen()).toEqual([true, true]);
});

test('a watching mirror keeps its interval when the clock of its machine is set back', async () => {
  await start();
  const [stop, abort] = [new AbortController(), new AbortController()];
  let aheadMs = 0;
  let reports = 0;
  await runMirror(optionsOf([...storeOptions('sqlite', service.folder), '--watch', '1s']), {
    stop: stop.signal,
    abort: abort.signal,
    progress: NO_PROGRESS,
    tell: () => undefined,
    onFailure: () => undefined,
    clock: () => Date.now() + aheadMs,
    onReport: () => {
      aheadMs -= 40 * DAY_MS;
      reports += 1;
      if (reports === 3) stop.abort();
    },
  });
  expect(reports).toBe(3);
});

describe.each(STORES)('a mirror into %s', (type) => {
  test.each([
    ['fast', 2 * HOUR_MS],
    ['slow', -2 * HOUR_MS],
  ])('with a %s clock reads changes published before a deadline', async (_clock, aheadMs) => {
    await start();
    const args = storeOptions(type, service.folder);
    const soon = {
      ...solicitation('sol_1', 2),
      lead_entity_id: 'le_1',
      close_at: new Date(Date.now() + HOUR_MS).toISOString(),
    };
    await service.publish({ solicitations: [soon] });
    await service.settle();
    await mirror(args, aheadMs);
    const notices = [{ id: 1, title: 'An addendum', body: '', created_at: '2026-01-01T00:00:00.000Z' }];
    await service.publish({ solicitations: [{ ...soon, notices }] });
    await service.settle();
    await mirror(args, aheadMs);
    expect(readCopy(type, service.folder).details.get('sol_1')).toMatchObject({ notices });
  });

  test('reads the details of all closed solicitations within the refresh period, however many are unread', async () => {
    const closed = Array.from({ length: 400 }, (_, i) => ({
      ...solicitation(`sol_${i}`, i + 1),
      lead_entity_id: 'le_1',
      status: 'closed',
    }));
    await start({ ...firstCatalog(), solicitations: closed });
    const args = [...storeOptions(type, service.folder), '--refresh', '30d'];
    const read = async (days: number): Promise<number> => (await mirror(args, days * DAY_MS)).details?.read ?? 0;
    expect(await read(0)).toBe(100);
    expect(readCopy(type, service.folder).details.size).toBe(100);
    // After half the period, half the details, which is more than the minimum of 100 per run.
    expect(await read(15)).toBe(201);
    expect(readCopy(type, service.folder).details.size).toBe(301);
    // Never-read details come first, then the least recently read.
    expect(await read(25)).toBe(134);
    const { size } = readCopy(type, service.folder).details;
    expect(size).toBe(400);
  });

  test('reconciles if the last time is as long ago as requested or in the future, and not earlier', async () => {
    await start();
    const args = [...storeOptions(type, service.folder), '--reconcile-every', '1d'];
    const isReconciling = async (days: number): Promise<boolean> => (await mirror(args, days * DAY_MS)).reconciled;
    // The first run lists everything; later runs only changes.
    expect(await isReconciling(0)).toBe(false);
    expect(await isReconciling(0.9)).toBe(false);
    expect(await isReconciling(1.1)).toBe(true);
    expect(await isReconciling(2)).toBe(false);
    expect(await isReconciling(0.5)).toBe(true);
    expect(await isReconciling(1.4)).toBe(false);
  });
});

import { afterEach, beforeEach, expect, test } from 'vitest';
import { runMirror } from '../../src/mirror/mirror.ts';
import { readOptions, type MirrorOptions } from '../../src/mirror/options.ts';
import type { SyncReport } from '../../src/mirror/sync.ts';
import { readCopy, storeOptions } from './support/copies.ts';
import { firstCatalog } from './support/histories.ts';
import { MirroredService } from './support/mirrored-service.ts';

const DAY_MS = 86_400_000;

let service: MirroredService;
beforeEach(async () => {
  service = await MirroredService.start(firstCatalog(), { name: 'acme', everything: true });
});
afterEach(() => service.close());

function optionsOf(args: readonly string[]): MirrorOptions {
  const environment = { PARTNER_DATA_URL: service.proxy.url, PARTNER_DATA_KEY: service.key };
  const options = readOptions(args, environment);
  if (typeof options === 'string') throw new Error(options);
  return options;
}

/** Runs one sync with a clock that is `aheadMs` ahead of the service's. */
async function mirror(args: readonly string[], aheadMs: number): Promise<SyncReport> {
  let report: SyncReport | undefined;
  const never = new AbortController().signal;
  await runMirror(optionsOf(args), {
    stop: never,
    abort: never,
    onProgress: () => undefined,
    notify: () => undefined,
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
  const [stop, abort] = [new AbortController(), new AbortController()];
  let aheadMs = 0;
  let reports = 0;
  await runMirror(optionsOf([...storeOptions('sqlite', service.folder), '--watch', '1s']), {
    stop: stop.signal,
    abort: abort.signal,
    onProgress: () => undefined,
    notify: () => undefined,
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

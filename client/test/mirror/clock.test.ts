import { expect, test } from 'vitest';
import { readCopy, storeOptions } from './support/copies.ts';
import { mirroredServiceForEachTest } from './support/mirrored-service.ts';

const DAY_MS = 86_400_000;

const service = mirroredServiceForEachTest();

/** Runs one sync with a clock that is `aheadMs` ahead of the service's. */
async function mirror(args: readonly string[], aheadMs: number): Promise<void> {
  const { code, stderr } = await service.startMirrorHere(args, { clock: () => Date.now() + aheadMs }).ended;
  expect(code, stderr).toBe(0);
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
  const begun = performance.now();
  // Each time that it is read, it is set back.
  let atMs = Date.now();
  const clock = (): number => (atMs -= 40 * DAY_MS);
  const watching = service.startMirrorHere([...storeOptions('sqlite', service.folder), '--watch', '1s'], { clock });
  await expect
    .poll(() => service.targets.filter((target) => target === '/v1/key').length, { timeout: 20_000 })
    .toBeGreaterThan(2);
  watching.stop();
  expect((await watching.ended).code).toBe(0);
  expect(performance.now() - begun).toBeGreaterThan(2_000);
});

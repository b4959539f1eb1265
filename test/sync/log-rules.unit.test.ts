import fc from 'fast-check';
import { expect, test } from 'vitest';
import { numberOfRuns } from '../support/runs.ts';
import { histories } from './log-steps.ts';
import { LogWorld } from './log-world.ts';

test('by the rules of the log no copy misses a change or a removal, and none is read again for nothing', () => {
  let complete = 0;
  fc.assert(
    fc.property(histories, (steps) => {
      const world = new LogWorld();
      world.run(steps);
      complete += world.complete;
    }),
    { numRuns: numberOfRuns({ usually: 5_000, nightly: 100_000 }) },
  );
  expect(complete).toBeGreaterThan(0);
});

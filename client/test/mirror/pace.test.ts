import { expect, test } from 'vitest';
import { Pace } from '../../src/mirror/pace.ts';

test('waits for the next window when the limit is nearly used up, and not before', () => {
  let nowMs = 1_000;
  const pace = new Pace(() => nowMs);
  expect(pace.pauseMs()).toBe(0);
  pace.note({ quota: 600, windowSeconds: 60, remaining: 7, resetSeconds: 12 });
  expect(pace.pauseMs()).toBe(0);
  pace.note({ quota: 600, windowSeconds: 60, remaining: 6, resetSeconds: 12 });
  expect(pace.pauseMs()).toBe(12_050);
  nowMs += 12_000;
  expect(pace.pauseMs()).toBe(50);
  nowMs += 1_000;
  expect(pace.pauseMs()).toBe(0);
});

test('uses up a limit of one request', () => {
  const pace = new Pace(() => 0);
  pace.note({ quota: 1, windowSeconds: 60, remaining: 1, resetSeconds: 60 });
  expect(pace.pauseMs()).toBe(0);
  pace.note({ quota: 1, windowSeconds: 60, remaining: 0, resetSeconds: 60 });
  expect(pace.pauseMs()).toBeGreaterThan(60_000);
});

import { expect, test } from 'vitest';
import { rateLimitResult, shareOf } from '../../src/http/request-counts.ts';

test('a window has no more seconds than it is long, whatever the clock reads', () => {
  for (let nowMs = 0.1; nowMs < 10_000; nowMs += 0.7) {
    expect(rateLimitResult(1, 1, nowMs + 60_000 - nowMs).resetSeconds).toBe(60);
  }
});

test('nobody is told to come back before the window ends', () => {
  expect(rateLimitResult(2, 1, 1_000.01).resetSeconds).toBe(2);
  expect(rateLimitResult(2, 1, 0).resetSeconds).toBe(1);
});

test('the shares of all processes together are no more than the quota, but for the one request that each has', () => {
  expect(shareOf(100, 3)).toBe(33);
  expect(shareOf(1, 3)).toBe(1);
});

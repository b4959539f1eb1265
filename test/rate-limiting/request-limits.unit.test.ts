import { describe, expect, test } from 'vitest';
import {
  InMemoryRateLimiter,
  FAILURES_PER_MINUTE,
  rateLimitResult,
  networkOf,
  RequestLimits,
} from '../../src/rate-limiting/request-limits.ts';

describe('a rate limit result', () => {
  test('never reports more seconds than the window has, whatever the clock reads', () => {
    for (let nowMs = 0.1; nowMs < 10_000; nowMs += 0.7) {
      expect(rateLimitResult(1, 1, nowMs + 60_000 - nowMs).resetSeconds).toBe(60);
    }
  });

  test('never invites a client back before the window ends', () => {
    expect(rateLimitResult(2, 1, 1_000.01).resetSeconds).toBe(2);
    expect(rateLimitResult(2, 1, 0).resetSeconds).toBe(1);
  });
});

test('refused requests are counted by partner, and failed authentications by outcome', async () => {
  const limits = new RequestLimits(new InMemoryRateLimiter());
  for (let count = 0; count < 5; count += 1) await limits.countRequest({ id: 1, name: 'acme', requestsPerMinute: 2 });
  await limits.countRequest({ id: 2, name: 'other', requestsPerMinute: 2 });
  for (let count = 0; count < FAILURES_PER_MINUTE + 3; count += 1) await limits.countFailure('192.0.2.1');
  expect([...limits.limitedRequests]).toEqual([['acme', 3]]);
  expect(limits.failures).toEqual({ refused: FAILURES_PER_MINUTE, limited: 3 });
});

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::9', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
  ['unknown', 'unknown'],
])('the network of %s is %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});

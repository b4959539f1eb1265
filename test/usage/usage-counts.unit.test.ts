import { expect, test } from 'vitest';
import type { Partner } from '../../src/access/scope.ts';
import type { ObservedRequest } from '../../src/http/request/observers.ts';
import { UsageCounts } from '../../src/usage/usage-recorder.ts';
import { observedRequest } from './recording.ts';

const NOON_MS = Date.parse('2026-04-15T12:00:00.000Z');
const PARTNER = { id: 7, name: 'acme' } as Partner;

const request = (changes: Partial<ObservedRequest> = {}): ObservedRequest =>
  observedRequest({ partner: PARTNER, rows: 3, ...changes });

test('requests are counted per UTC day, key and endpoint, in a fixed order', () => {
  const counts = new UsageCounts();
  const midnightMs = Date.parse('2026-04-16T00:00:00.000Z');
  counts.count(request(), midnightMs);
  counts.count(request(), midnightMs - 1);
  counts.count(request({ status: 304, rows: 0 }), NOON_MS);
  counts.count(request({ status: 429, rows: 0 }), NOON_MS);
  counts.count(request({ status: 500, rows: 0 }), NOON_MS);
  counts.count(request({ status: 400, rows: 0 }), NOON_MS);
  // The client disconnected.
  counts.count(request({ status: null, rows: 0 }), NOON_MS);
  counts.count(request({ route: null, status: 404, rows: 0 }), NOON_MS);
  counts.count(request({ keyId: 'key00000', partner: { ...PARTNER, id: 8 } }), NOON_MS);
  expect(counts.requests).toBe(9);
  const some = { partner_id: 7, key_id: 'key00001', endpoint: '/v1/coops', limited: 0, failed: 0 };
  expect(counts.takeAll()).toEqual([
    { ...some, day: '2026-04-15', partner_id: 8, key_id: 'key00000', requests: 1, records: 3 },
    { ...some, day: '2026-04-15', requests: 6, records: 3, limited: 1, failed: 1 },
    { ...some, day: '2026-04-15', endpoint: 'unknown', requests: 1, records: 0 },
    { ...some, day: '2026-04-16', requests: 1, records: 3 },
  ]);
  expect(counts.requests).toBe(0);
  counts.count(request(), midnightMs);
  expect(counts.takeAll()).toEqual([{ ...some, day: '2026-04-16', requests: 1, records: 3 }]);
});

test('requests without a valid key are not counted', () => {
  const counts = new UsageCounts();
  counts.count(request({ partner: null, keyId: null, status: 401, rows: 0 }), NOON_MS);
  counts.count(request({ partner: null, keyId: null, route: '/health' }), NOON_MS);
  expect(counts.takeAll()).toEqual([]);
});

test('a clock set back over midnight counts for the day that it shows', () => {
  const counts = new UsageCounts();
  for (const ms of [NOON_MS, NOON_MS - 86_400_000, NOON_MS]) counts.count(request(), ms);
  expect(counts.takeAll().map(({ day, requests }) => [day, requests])).toEqual([
    ['2026-04-14', 1],
    ['2026-04-15', 2],
  ]);
});

test('memory stays bounded: existing counters keep counting, and other requests are not counted', () => {
  const counts = new UsageCounts();
  for (let key = 0; key < 25_000; key += 1) counts.count(request({ keyId: `key${key}` }), NOON_MS);
  expect(counts.requests).toBe(20_000);
  counts.count(request({ keyId: 'key0' }), NOON_MS);
  expect(counts.requests).toBe(20_001);
  expect(counts.takeAll()).toHaveLength(20_000);
  counts.count(request({ keyId: 'key24999' }), NOON_MS);
  expect(counts.requests).toBe(1);
});

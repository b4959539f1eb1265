import { afterEach, expect, test } from 'vitest';
import { Pace } from '../../src/mirror/pace.ts';
import { readCopy, storeWords } from './support/copies.ts';
import { firstCatalog } from './support/histories.ts';
import { MirroredService } from './support/mirrored-service.ts';
import { SmallPages } from './support/small-pages.ts';

const QUOTA = 80;
/** What another program of the partner has asked for already: most, so that both mirrors come to the limit at once. */
const USED = 65;

let service: MirroredService | undefined;
afterEach(() => service?.close());

test('waits for the next window before the limit is used up, and not at all while much is left', () => {
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

test('a limit of one request is used', () => {
  const pace = new Pace(() => 0);
  pace.note({ quota: 1, windowSeconds: 60, remaining: 1, resetSeconds: 60 });
  expect(pace.pauseMs()).toBe(0);
  pace.note({ quota: 1, windowSeconds: 60, remaining: 0, resetSeconds: 60 });
  expect(pace.pauseMs()).toBeGreaterThan(60_000);
});

test('two mirrors and another program on one limit are never refused twice in a row, and all is copied', async () => {
  const made = await MirroredService.start(firstCatalog(), {
    name: 'acme',
    everything: true,
    requestsPerMinute: QUOTA,
  });
  service = made;
  const second = await SmallPages.start(3);
  second.servicePort = made.pages.servicePort;
  for (let asked = 0; asked < USED; asked += 1) await made.status('/v1/coops');
  const mirrors = [
    made.startMirror(...storeWords('sqlite', made.folder)),
    made.startMirror(...storeWords('ndjson', made.folder), '--url', second.url),
  ];
  for (const mirror of mirrors) {
    const { code, stderr } = await mirror.ended;
    expect(code, stderr).toBe(0);
  }
  for (const pages of [made.pages, second]) {
    const statuses = pages.passed.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(20);
    statuses.forEach((status, index) => {
      if (status === 429) expect(statuses[index + 1]).not.toBe(429);
    });
  }
  // More than one window's worth was asked for.
  expect(made.pages.passed.length + second.passed.length).toBeGreaterThan(QUOTA - USED);
  expect(readCopy('sqlite', made.folder)).toEqual(readCopy('ndjson', made.folder));
  await second.close();
}, 300_000);

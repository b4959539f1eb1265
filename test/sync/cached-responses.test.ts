import { describe, expect, test } from 'vitest';
import { revoke } from '../../src/access/grant-admin.ts';
import { revokeKey } from '../../src/access/key-admin.ts';
import { contract, publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import type { HttpResponse } from '../support/client.ts';
import { serviceForEachTest } from '../support/service.ts';

const CLIENTS = 8;

/** Half a second until the revision is polled, and the rest for the read. */
const MAX_STALE_MS = 1_000;

const service = serviceForEachTest({
  catalog: SMALL_CATALOG,
  clock: Date.now,
  partners: [
    { name: 'all', everything: true },
    { name: 'a', leadEntities: ['le_a'] },
  ],
});

/** After sixty failed authentications, an address gets 429. */
const isRefused = (status: number): boolean => status === 401 || status === 429;

/** A response of a process that has too much to do shows nothing about its cache. */
const isOverload = ({ status, body }: HttpResponse): boolean => status === 429 && body.includes('overloaded');

/**
 * Repeats a request over several connections, makes a change meanwhile, and continues until all responses reflect it.
 *
 * @returns how many milliseconds after the change the last stale response was requested.
 */
async function staleFor(
  path: string,
  key: string,
  change: () => Promise<unknown>,
  isNew: (response: HttpResponse) => boolean,
): Promise<number> {
  let changedAtMs = Number.POSITIVE_INFINITY;
  let lastStaleMs = Number.NEGATIVE_INFINITY;
  const until = (isDone: () => boolean) =>
    Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        while (!isDone()) {
          const sentAtMs = performance.now();
          const response = await service.get(path, { key });
          if (!isOverload(response) && !isNew(response)) lastStaleMs = Math.max(lastStaleMs, sentAtMs - changedAtMs);
        }
      }),
    );
  const requesting = until(() => performance.now() > changedAtMs + MAX_STALE_MS + 100);
  // By now it is served from the cache.
  let cached = await service.get(path, { key });
  while (isOverload(cached)) cached = await service.get(path, { key });
  expect(isNew(cached)).toBe(false);
  await change();
  changedAtMs = performance.now();
  await requesting;
  return lastStaleMs;
}

describe('under load, a cached response is no longer served a second after', () => {
  test('a release', async () => {
    const renamed = { ...contract('ctr_1'), name: 'A new name' };
    const change = () => publishLines(service.database, { contracts: [renamed] }, { clock: Date.now });
    const { key } = service.partner('all');
    expect(await staleFor('/v1/contracts', key, change, ({ body }) => body.includes('A new name'))).toBeLessThan(
      MAX_STALE_MS,
    );
    expect(
      await staleFor(
        '/v1/contracts/ctr_1',
        key,
        () => publishLines(service.database, { contracts: [contract('ctr_1')] }, { clock: Date.now }),
        ({ body }) => !body.includes('A new name'),
      ),
    ).toBeLessThan(MAX_STALE_MS);
  });

  test('a grant is revoked', async () => {
    const change = () =>
      revoke(service.database, Date.now, 'a', { everything: false, leadEntities: ['le_a'], coops: [] });
    const { key } = service.partner('a');
    expect(await staleFor('/v1/contracts', key, change, ({ body }) => body.includes('"data":[]'))).toBeLessThan(
      MAX_STALE_MS,
    );
  });

  test('a key is revoked', async () => {
    const { key } = service.partner('a');
    const [, , id = ''] = key.split('_');
    const change = () => revokeKey(service.database, Date.now, id);
    expect(await staleFor('/v1/contracts', key, change, ({ status }) => isRefused(status))).toBeLessThan(MAX_STALE_MS);
  });
});

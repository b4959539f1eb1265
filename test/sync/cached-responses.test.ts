import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { revoke } from '../../src/access/grant-admin.ts';
import { revokeKey } from '../../src/access/key-admin.ts';
import { contract, publishLines, SMALL_CATALOG, withImportDirectory } from '../support/publishing.ts';
import type { Answer } from '../support/client.ts';
import { startService, type TestService } from '../support/service.ts';

const CLIENTS = 8;

/** Half a second until the revision is polled, and the rest for the read. */
const MAX_STALE_MS = 1_000;

let service: TestService;

beforeEach(async () => {
  service = await withImportDirectory(SMALL_CATALOG, (directory) =>
    startService({
      directories: [directory],
      clock: Date.now,
      partners: [
        { name: 'all', everything: true },
        { name: 'a', leadEntities: ['le_a'] },
      ],
    }),
  );
});
afterEach(() => service.close());

/** After sixty failed authentications, an address gets 429. */
const isRefused = (status: number): boolean => status === 401 || status === 429;

/**
 * Repeats a request over several connections, makes a change meanwhile, and continues until all responses reflect it.
 *
 * @returns how many milliseconds after the change the last stale response was requested.
 */
async function staleFor(
  path: string,
  key: string,
  change: () => Promise<unknown>,
  isNew: (answer: Answer) => boolean,
): Promise<number> {
  let changedAtMs = Number.POSITIVE_INFINITY;
  let lastStaleMs = Number.NEGATIVE_INFINITY;
  const until = (isOver: () => boolean) =>
    Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        while (!isOver()) {
          const askedAtMs = performance.now();
          const answer = await service.get(path, { key });
          if (!isNew(answer)) lastStaleMs = Math.max(lastStaleMs, askedAtMs - changedAtMs);
        }
      }),
    );
  const asking = until(() => performance.now() > changedAtMs + MAX_STALE_MS + 100);
  // By now it is served from the cache.
  expect(isNew(await service.get(path, { key }))).toBe(false);
  await change();
  changedAtMs = performance.now();
  await asking;
  return lastStaleMs;
}

describe('under load, an answer that is kept is gone within a second', () => {
  test('of a publication', async () => {
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

  test('of the revocation of a grant', async () => {
    const change = () =>
      revoke(service.database, Date.now, 'a', { everything: false, leadEntities: ['le_a'], coops: [] });
    const { key } = service.partner('a');
    expect(await staleFor('/v1/contracts', key, change, ({ body }) => body.includes('"data":[]'))).toBeLessThan(
      MAX_STALE_MS,
    );
  });

  test('of the revocation of a key', async () => {
    const { key } = service.partner('a');
    const [, , id = ''] = key.split('_');
    const change = () => revokeKey(service.database, Date.now, id);
    expect(await staleFor('/v1/contracts', key, change, ({ status }) => isRefused(status))).toBeLessThan(MAX_STALE_MS);
  });
});

import { afterEach, describe, expect, test, vi } from 'vitest';
import { issueKey, rotateKey } from '../../src/access/key-admin.ts';
import { TEST_NOW } from '../../test/support/service.ts';
import { createClient, type KeyExpiry } from '../src/index.ts';
import { faulty, sendError, sendJson } from './support/faulty-server.ts';
import { sampleServiceForAllTests } from './support/sample-service.ts';

const KEY = 'pds_test_abcdefgh_secret';
const END = '2026-05-01T00:00:00.000Z';
const LATER = '2026-06-01T00:00:00.000Z';

afterEach(() => void vi.restoreAllMocks());

const ending = (at: string): Record<string, string> => ({ 'x-key-expires-at': at });

describe('the end of a key', () => {
  test('is told once for each end, from any response, and never with the key', async () => {
    const ends = [END, END, LATER, END];
    const server = await faulty((response, index) =>
      index === 0
        ? sendError(response, 500, 'internal_error', ending(END))
        : sendJson(response, { status: 'ok' }, 200, ending(ends[index] ?? END)),
    );
    const reported: KeyExpiry[] = [];
    const client = createClient({
      ...{ baseUrl: server.url, apiKey: KEY, retry: { minDelayMs: 1 } },
      onKeyExpiring: (expiry) => void reported.push(expiry),
    });
    for (let time = 0; time < 4; time += 1) await client.health();
    expect(reported).toEqual([
      { keyId: 'abcdefgh', expiresAt: END },
      { keyId: 'abcdefgh', expiresAt: LATER },
    ]);
  });

  test('is a line of console.warn by default, also for a key of another format, and nothing if malformed', async () => {
    const server = await faulty((response, index) =>
      sendJson(response, { status: 'ok' }, 200, ending(['soon', END, END][index] ?? '')),
    );
    const warned = vi.spyOn(console, 'warn').mockReturnValue();
    const client = createClient({ baseUrl: server.url, apiKey: 'added-by-our-server' });
    for (let time = 0; time < 3; time += 1) await client.health();
    expect(warned.mock.calls).toEqual([[`partner-data-client: API key ends at ${END}: change to another key before`]]);
  });
});

describe('with the service', () => {
  const service = sampleServiceForAllTests();

  test('a rotated key is warned of, and key() shows the same; the new key is not', async () => {
    const clock = (): number => Date.parse(TEST_NOW);
    const old = await issueKey(service.database, clock, 'all', { environment: 'test', lifetimeMs: null });
    const { issued } = await rotateKey(service.database, clock, old.details.id, 60_000);
    const reported: KeyExpiry[] = [];
    const clientOf = (apiKey: string) =>
      createClient({ baseUrl: service.url, apiKey, onKeyExpiring: (expiry) => void reported.push(expiry) });
    expect(await clientOf(issued.key).key()).toMatchObject({ id: issued.details.id, expires_at: null, partner: 'all' });
    expect(reported).toEqual([]);
    const { id, expires_at: expiresAt, replaced_by } = await clientOf(old.key).key();
    expect([id, replaced_by]).toEqual([old.details.id, issued.details.id]);
    expect(reported).toEqual([{ keyId: old.details.id, expiresAt }]);
    expect(expiresAt).toBe('2026-04-15T09:01:00.000Z');
  });
});

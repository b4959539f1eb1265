import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { publishLines, solicitation } from '../../test/support/publishing.ts';
import { createClient, memoryCache, type AnswerCache, type CachedAnswer, type Client } from '../src/index.ts';
import { sampleServiceForAllTests } from './support/sample-service.ts';

describe('a client with a cache', () => {
  const service = sampleServiceForAllTests();

  /** Creates a client that records the status of each response. */
  function watchedClient(cache: AnswerCache): { client: Client; statuses: () => number[] } {
    let statuses: number[] = [];
    const client = createClient({
      baseUrl: service.url,
      apiKey: service.partner('all').key,
      cache,
      onAnswer: ({ status }) => void statuses.push(status),
    });
    const take = (): number[] => {
      const taken = statuses;
      statuses = [];
      return taken;
    };
    return { client, statuses: take };
  }

  test('receives 304 for unchanged pages, and returns them as before', async () => {
    const { client, statuses } = watchedClient(memoryCache());
    const listAll = (): Promise<unknown[]> => Array.fromAsync(client.leadEntities.list({ limit: 50 }).pages());
    const first = await listAll();
    expect(statuses()).toEqual([200, 200]);
    const withoutRequest = (page: unknown): object => ({ ...(page as object), requestId: null, rateLimit: null });
    for (let again = 0; again < 2; again += 1) {
      expect((await listAll()).map(withoutRequest)).toEqual(first.map(withoutRequest));
      expect(statuses()).toEqual([304, 304]);
    }
  });

  test('returns changed records, also if updated_at is unchanged', async () => {
    const { client, statuses } = watchedClient(memoryCache());
    const notice = { id: 1, title: 'Addendum', body: 'The date moves.', created_at: '2026-04-14T00:00:00Z' };
    const publish = async (notices: object[]): Promise<void> => {
      await publishLines(service.database, {
        'lead-entities': [{ id: 'le_a', name: 'City of A' }],
        solicitations: [{ ...solicitation('sol_new', 9_000_001), notices }],
      });
      await service.noticeChanges();
    };
    await publish([]);
    const before = await client.solicitations.get('sol_new');
    expect(await client.solicitations.get('sol_new')).toEqual(before);
    await publish([notice]);
    const after = await client.solicitations.get('sol_new');
    expect(statuses()).toEqual([200, 304, 200]);
    expect(after.notices.map(({ title }) => title)).toEqual(['Addendum']);
    expect(after.updated_at).toBe(before.updated_at);
  });

  test('caches responses by path and query in an asynchronous cache, but no errors', async () => {
    const cached = new Map<string, CachedAnswer>();
    const { client } = watchedClient({
      get: async (path) => cached.get(path),
      set: async (path, response) => void cached.set(path, response),
    });
    await client.solicitations.count({ status: 'open' });
    await expect(client.contracts.get('none')).rejects.toThrow();
    expect([...cached.keys()]).toEqual(['/v1/solicitations/count?status=open']);
    expect(JSON.stringify([...cached])).not.toContain(service.partner('all').key);
  });
});

test('memoryCache evicts the least recently used responses beyond its maximum', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
  const use = fc.record({ kind: fc.constantFrom('get', 'set'), name });
  fc.assert(
    fc.property(fc.nat(4), fc.array(use, { maxLength: 40, size: 'max' }), (maxEntries, uses) => {
      const cache = memoryCache({ maxEntries });
      // Names in order of use, most recent last.
      let model: string[] = [];
      for (const { kind, name: used } of uses) {
        const isCached = model.includes(used);
        if (kind === 'get') {
          expect(cache.get(used)).toEqual(isCached ? { etag: used, body: '{}' } : undefined);
          if (!isCached) continue;
        } else {
          void cache.set(used, { etag: used, body: '{}' });
        }
        model = [...model.filter((other) => other !== used), used];
        if (model.length > maxEntries) model.shift();
      }
    }),
  );
});

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { publishLines, solicitation } from '../../test/support/publishing.ts';
import type { TestService } from '../../test/support/service.ts';
import { createClient, memoryCache, type AnswerCache, type CachedAnswer, type Client } from '../src/index.ts';
import { startSampleService } from './support/sample-service.ts';

describe('with a cache', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startSampleService();
  });
  afterAll(() => service.close());

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

  test('what did not change is not sent again, and is given as before', async () => {
    const { client, statuses } = watchedClient(memoryCache());
    const walk = (): Promise<unknown[]> => Array.fromAsync(client.leadEntities.list({ limit: 50 }).pages());
    const first = await walk();
    expect(statuses()).toEqual([200, 200]);
    const withoutRequest = (page: unknown): object => ({ ...(page as object), requestId: null, rateLimit: null });
    for (let again = 0; again < 2; again += 1) {
      expect((await walk()).map(withoutRequest)).toEqual(first.map(withoutRequest));
      expect(statuses()).toEqual([304, 304]);
    }
  });

  test('what changed is given as it is: a notice that does not move updated_at', async () => {
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

  test('that is asynchronous, answers are kept by path and query; errors are not', async () => {
    const kept = new Map<string, CachedAnswer>();
    const { client } = watchedClient({
      get: async (path) => kept.get(path),
      set: async (path, answer) => void kept.set(path, answer),
    });
    await client.solicitations.count({ status: 'open' });
    await expect(client.contracts.get('none')).rejects.toThrow();
    expect([...kept.keys()]).toEqual(['/v1/solicitations/count?status=open']);
    expect(JSON.stringify([...kept])).not.toContain(service.partner('all').key);
  });
});

test('memoryCache keeps the answers that were used last, and no more than so many', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
  const use = fc.record({ kind: fc.constantFrom('get', 'set'), name });
  fc.assert(
    fc.property(fc.nat(4), fc.array(use, { maxLength: 40, size: 'max' }), (maxEntries, uses) => {
      const cache = memoryCache({ maxEntries });
      // Names in order of use, most recent last.
      let model: string[] = [];
      for (const { kind, name: used } of uses) {
        const isKept = model.includes(used);
        if (kind === 'get') {
          expect(cache.get(used)).toEqual(isKept ? { etag: used, body: '{}' } : undefined);
          if (!isKept) continue;
        } else {
          void cache.set(used, { etag: used, body: '{}' });
        }
        model = [...model.filter((other) => other !== used), used];
        if (model.length > maxEntries) model.shift();
      }
    }),
  );
});

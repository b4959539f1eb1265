import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Partner } from '../../src/access/scope.ts';
import type { Encoding } from '../../src/http/response/send-text.ts';
import { ResponseCache, type RenderedResponse, type CachedResponse } from '../../src/http/response/response-cache.ts';
import { EPOCH } from '../../src/timestamp.ts';
import { partnerOf } from '../support/snapshots.ts';

const EVERYTHING = { everythingSince: EPOCH, leadEntities: new Map(), coops: new Map() };

const partnerAt = (revision: number | string, id = 1): Partner => ({
  ...partnerOf(id, '', EVERYTHING),
  revision: String(revision),
});

function responseAt(revision: number | string, more: Partial<RenderedResponse> = {}): RenderedResponse {
  const response = { body: '{"data":[]}', rows: 0, goodUntilMs: Number.POSITIVE_INFINITY };
  return { ...response, ...more, revision: String(revision) };
}

function plainOf({ text }: CachedResponse): string {
  return String(text.find('identity'));
}

/** Looks up a response as a request does, and caches `response` on a miss. */
function findOrCache(
  cache: ResponseCache,
  partner: Partner,
  url: string,
  response: RenderedResponse,
): string | undefined {
  const cached = cache.find(partner, url);
  if (cached === null) cache.finish(partner, url, response);
  return cached === null ? undefined : plainOf(cached);
}

describe('the response cache', () => {
  test('does not cache a response that a request with a newer revision overtook', () => {
    const cache = new ResponseCache(() => 0);
    cache.find(partnerAt(5), '/v1/coops');
    cache.find(partnerAt(6), '/v1/contracts');
    cache.finish(partnerAt(5), '/v1/coops', responseAt(5));
    expect(cache.responses.calculatedSize).toBe(0);
  });

  test('caches short responses the first time, and long ones the second time', () => {
    const cache = new ResponseCache(() => 0);
    const long = responseAt(1, { body: 'x'.repeat(10_000) });
    for (const [url, response, expected] of [
      ['/v1/coops', responseAt(1), [false, true, true]],
      ['/v1/contracts', long, [false, false, true]],
    ] as const) {
      expect(expected.map(() => findOrCache(cache, partnerAt(1), url, response) !== undefined)).toEqual(expected);
    }
    cache.find(partnerAt(2), '/v1/coops');
    expect(findOrCache(cache, partnerAt(2), '/v1/contracts', { ...long, revision: '2' })).toBeUndefined();
    expect(cache.responses.calculatedSize).toBe(0);
  });

  test('never serves a response of another partner, revision or time, whatever the order of requests', () => {
    const step = fc.record({
      id: fc.integer({ min: 1, max: 2 }),
      partnerVersion: fc.integer({ min: 1, max: 4 }),
      rowsAhead: fc.integer({ min: 0, max: 1 }),
      url: fc.constantFrom('/v1/coops', '/v1/contracts'),
      pauseMs: fc.integer({ min: -5, max: 20 }),
      goodForMs: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constant(Number.POSITIVE_INFINITY)),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let nowMs = 100_000;
        const cache = new ResponseCache(() => nowMs, 20_000);
        for (const [count, { id, partnerVersion, rowsAhead, url, pauseMs, goodForMs }] of steps.entries()) {
          nowMs += pauseMs;
          const version = partnerVersion + rowsAhead;
          const goodUntilMs = nowMs + goodForMs;
          const body = JSON.stringify({ id, url, version, fromMs: nowMs, untilMs: goodUntilMs, count });
          const served = findOrCache(
            cache,
            partnerAt(partnerVersion, id),
            url,
            responseAt(version, { body, goodUntilMs }),
          );
          if (served === undefined) continue;
          const rendered = JSON.parse(served) as { untilMs: number | null; fromMs: number };
          expect(rendered).toMatchObject({ id, url, version: partnerVersion });
          expect(rendered.fromMs <= nowMs && nowMs < (rendered.untilMs ?? Number.POSITIVE_INFINITY)).toBe(true);
        }
      }),
    );
  });
});

describe('the memory of the response cache', () => {
  test('counts text and URL, with room for the compressed forms, and stays within its bound', async () => {
    const cache = new ResponseCache(() => 0, 100_000);
    const partner = partnerAt(1);
    for (let page = 0; page < 100; page += 1) {
      const url = `/v1/contracts?cursor=${'c'.repeat(page)}`;
      const body = JSON.stringify({ page, text: (page % 2 === 0 ? 'é' : '“').repeat(100 * page) });
      // A long response is cached only the second time.
      for (let time = 0; time < 2; time += 1) findOrCache(cache, partner, url, responseAt(1, { body }));
      const cached = cache.find(partner, url);
      if (cached === null) throw new Error('the newest response is not cached');
      const before = cache.responses.calculatedSize;
      expect([plainOf(cached), plainOf(cached)]).toEqual([body, body]);
      await Promise.all([cached.text.compress('br'), cached.text.compress('gzip')]);
      const forms: Encoding[] = ['identity', 'br', 'gzip'];
      const taken = forms.reduce((sum, encoding) => sum + (cached.text.find(encoding)?.length ?? 0), url.length);
      expect(before).toBeGreaterThan(taken);
      expect(cache.responses.calculatedSize).toBe(before);
      expect(cache.responses.calculatedSize).toBeLessThanOrEqual(100_000);
    }
    expect(cache.find(partner, '/v1/contracts?cursor=')).toBeNull();
  });

  test('is not used for a response that alone exceeds it', () => {
    const cache = new ResponseCache(() => 0, 10_000);
    findOrCache(cache, partnerAt(1), '/v1/contracts', responseAt(1, { body: 'x'.repeat(10_000) }));
    expect(cache.responses.calculatedSize).toBe(0);
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Partner } from '../../src/access/scope.ts';
import { ResponseCache, type RenderedResponse, type CachedResponse } from '../../src/http/response-cache.ts';
import { EPOCH } from '../../src/timestamp.ts';

function partnerAt(revision: number | string, id = 1): Partner {
  const scope = { everythingSince: EPOCH, leadEntities: new Map(), coops: new Map(), changedAt: EPOCH };
  return {
    id,
    revision: String(revision),
    name: 'acme',
    isSuspended: false,
    requestsPerMinute: 600,
    kinds: null,
    scope,
  };
}

function responseAt(revision: number | string, more: Partial<RenderedResponse> = {}): RenderedResponse {
  const answer = { body: '{"data":[]}', rows: 0, watermark: null, goodUntilMs: Number.POSITIVE_INFINITY };
  return { ...answer, ...more, revision: String(revision) };
}

function plainOf({ text }: CachedResponse): string {
  const plain = text.encode('identity');
  if (plain instanceof Promise) throw new Error('the plain text has to be waited for');
  return plain.toString();
}

/** Looks up a response as a request does, and caches `answer` on a miss. */
function ask(cache: ResponseCache, partner: Partner, url: string, response: RenderedResponse): string | undefined {
  const cached = cache.find(partner, url);
  if (cached === null) cache.finish(partner, url, response, null);
  return cached === null ? undefined : plainOf(cached);
}

describe('kept answers', () => {
  test('are found for the partner, the revision and the address, and not for any other', () => {
    const cache = new ResponseCache(() => 0);
    ask(cache, partnerAt(5), '/v1/coops', responseAt(5));
    expect(cache.find(partnerAt(5), '/v1/coops')).not.toBeNull();
    expect(cache.find(partnerAt(5, 2), '/v1/coops')).toBeNull();
    expect(cache.find(partnerAt(5), '/v1/coops?')).toBeNull();
    expect(cache.find(partnerAt(6), '/v1/coops')).toBeNull();
  });

  test.each(['4-a', '6-a', '5-b'])('are gone once another revision was seen, be it %s after 5-a', (other) => {
    const cache = new ResponseCache(() => 0);
    ask(cache, partnerAt('5-a'), '/v1/coops', responseAt('5-a'));
    cache.find(partnerAt(other), '/v1/contracts');
    expect(cache.find(partnerAt('5-a'), '/v1/coops')).toBeNull();
    expect(cache.bytes).toBe(0);
  });

  test('are not of a request that another one, with a newer revision, overtook', () => {
    const cache = new ResponseCache(() => 0);
    cache.find(partnerAt(5), '/v1/coops');
    cache.find(partnerAt(6), '/v1/contracts');
    cache.finish(partnerAt(5), '/v1/coops', responseAt(5), null);
    expect(cache.bytes).toBe(0);
  });

  test('are kept from the second time on where they are long, and at once where they are short', () => {
    const cache = new ResponseCache(() => 0);
    const long = responseAt(1, { body: 'x'.repeat(10_000) });
    for (const [url, answer, findings] of [
      ['/v1/coops', responseAt(1), [false, true, true]],
      ['/v1/contracts', long, [false, false, true]],
    ] as const) {
      expect(findings.map(() => ask(cache, partnerAt(1), url, answer) !== undefined)).toEqual(findings);
    }
    cache.find(partnerAt(2), '/v1/coops');
    expect(ask(cache, partnerAt(2), '/v1/contracts', { ...long, revision: '2' })).toBeUndefined();
    expect(cache.bytes).toBe(0);
  });

  test('are used until a deadline in them passes, and never before they were made', () => {
    let nowMs = 1_000;
    const cache = new ResponseCache(() => nowMs);
    const isFound = (): boolean => cache.find(partnerAt(1), '/v1/solicitations') !== null;
    ask(cache, partnerAt(1), '/v1/solicitations', responseAt(1, { goodUntilMs: 2_000 }));
    nowMs = 1_999;
    expect(isFound()).toBe(true);
    nowMs = 2_000;
    expect(isFound()).toBe(false);
    nowMs = 1_500;
    expect(isFound()).toBe(false);
    ask(cache, partnerAt(1), '/v1/solicitations', responseAt(1));
    nowMs = 1_499;
    expect(isFound()).toBe(false);
  });

  test('give what the partner of that version was told last, whatever happens in between', () => {
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
          const given = ask(cache, partnerAt(partnerVersion, id), url, responseAt(version, { body, goodUntilMs }));
          if (given === undefined) continue;
          const told = JSON.parse(given) as { untilMs: number | null; fromMs: number };
          expect(told).toMatchObject({ id, url, version: partnerVersion });
          expect(told.fromMs <= nowMs && nowMs < (told.untilMs ?? Number.POSITIVE_INFINITY)).toBe(true);
        }
      }),
    );
  });
});

describe('the memory of kept answers', () => {
  test('counts text, address and compressed forms, and stays within its bound', async () => {
    const cache = new ResponseCache(() => 0, 100_000);
    const partner = partnerAt(1);
    for (let page = 0; page < 100; page += 1) {
      const url = `/v1/contracts?cursor=${'c'.repeat(page)}`;
      const body = JSON.stringify({ page, text: (page % 2 === 0 ? 'é' : '“').repeat(100 * page) });
      // A long response is cached only the second time.
      ask(cache, partner, url, responseAt(1, { body }));
      ask(cache, partner, url, responseAt(1, { body }));
      const cached = cache.find(partner, url);
      if (cached === null) throw new Error('the newest answer is not kept');
      const before = cache.bytes;
      expect(before).toBeGreaterThan(Buffer.byteLength(body) + url.length);
      expect([plainOf(cached), plainOf(cached)]).toEqual([body, body]);
      const plain = cache.bytes;
      const compressed = await Promise.all([cached.text.encode('br'), cached.text.encode('gzip')]);
      const added = compressed.reduce((sum, bytes) => sum + bytes.length, 0);
      expect(cache.bytes).toBeGreaterThan(0);
      if (page < 10) expect(cache.bytes).toBe(plain + added);
      expect(cache.bytes).toBeLessThanOrEqual(100_000);
    }
    expect(cache.find(partner, '/v1/contracts?cursor=')).toBeNull();
  });

  test('is not taken by an answer that alone is larger', () => {
    const cache = new ResponseCache(() => 0, 10_000);
    ask(cache, partnerAt(1), '/v1/contracts', responseAt(1, { body: 'x'.repeat(10_000) }));
    expect(cache.bytes).toBe(0);
  });

  test('does not come back when a form of an answer is finished that was dropped meanwhile', async () => {
    const cache = new ResponseCache(() => 0);
    const { text } = cache.finish(partnerAt(1), '/v1/coops', responseAt(1), null);
    ask(cache, partnerAt(2), '/v1/coops', responseAt(2, { body: 'x'.repeat(5_000) }));
    const { bytes } = cache;
    await text.encode('br');
    expect(cache.bytes).toBe(bytes);
  });
});

import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { dataOf, type ListedRecord } from '../../test/support/client.ts';
import { publishLines, supplier } from '../../test/support/publishing.ts';
import { createClient, type Client } from '../src/index.ts';
import { sampleServiceForAllTests } from './support/sample-service.ts';

let client: Client;

const service = sampleServiceForAllTests();
beforeAll(() => {
  client = createClient({ baseUrl: service.url, apiKey: service.partner('all').key });
});

/** Fetches the records of a list without the client. */
async function recordsOf(path: string): Promise<ListedRecord[]> {
  return dataOf(...(await service.listAllPages(path, service.partner('all').key, [100])));
}

/** A client, and the paths that it has requested. */
function watch() {
  const requested: string[] = [];
  const onAnswer = ({ path }: { readonly path: string }): void => void requested.push(path);
  const { key: apiKey } = service.partner('all');
  return { requested, watched: createClient({ baseUrl: service.url, apiKey, onAnswer }) };
}

describe('a list', () => {
  test.each([
    ['contracts', '/v1/contracts'],
    ['suppliers', '/v1/suppliers'],
    ['solicitations', '/v1/solicitations'],
    ['certifications', '/v1/certifications'],
    ['leadEntities', '/v1/lead-entities'],
    ['cityServices', '/v1/city-services'],
    ['coops', '/v1/coops'],
  ] as const)('of %s yields all records of %s in order', async (name, path) => {
    const records = await Array.fromAsync<unknown>(client[name].list({ limit: 100 }));
    expect(records.length).toBeGreaterThan(1);
    expect(records).toEqual(await recordsOf(path));
  });

  test('yields the same records with any page size, and when continued from a cursor', async () => {
    const all = await recordsOf('/v1/lead-entities');
    const limit = fc.integer({ min: 1, max: 100 });
    await fc.assert(
      fc.asyncProperty(limit, limit, fc.nat(5), async (first, second, pagesBefore) => {
        const records: unknown[] = [];
        let cursor: string | null = null;
        let pages = 0;
        for await (const page of client.leadEntities.list({ limit: first }).pages()) {
          expect(page.data.length).toBeLessThanOrEqual(first);
          records.push(...page.data);
          cursor = page.nextCursor;
          pages += 1;
          if (pages > pagesBefore) break;
        }
        if (cursor !== null)
          records.push(...(await Array.fromAsync(client.leadEntities.list({ limit: second, cursor }))));
        expect(records).toEqual(all);
      }),
      { numRuns: 25 },
    );
  });

  test('can be iterated again, and sends no request before it is iterated', async () => {
    const { requested, watched } = watch();
    const list = watched.coops.list({ limit: 1 });
    expect(requested).toEqual([]);
    const first = await Array.fromAsync(list);
    expect(requested.map((path) => path.replace(/cursor=[^&]+/, 'cursor=…'))).toEqual([
      '/v1/coops?limit=1',
      '/v1/coops?limit=1&cursor=…',
    ]);
    expect(await Array.fromAsync(list)).toEqual(first);
  });

  test('requests no page that is not read', async () => {
    const { requested, watched } = watch();
    for await (const contract of watched.contracts.list()) {
      expect(contract.id).toMatch(/^ctr_/);
      break;
    }
    expect(requested).toEqual(['/v1/contracts']);
  });

  test('has pages with data, request id, limit, rate limit and one watermark', async () => {
    const pages = await Array.fromAsync(client.solicitations.list({ limit: 90 }).pages());
    expect(pages.map(({ data }) => data.length)).toEqual([90, 90, 90, 90, 49]);
    expect(new Set(pages.map(({ limit }) => limit))).toEqual(new Set([90]));
    expect(new Set(pages.map(({ watermark }) => watermark)).size).toBe(1);
    expect(new Set(pages.map(({ requestId }) => requestId)).size).toBe(5);
    expect(pages.map(({ nextCursor }) => nextCursor === null)).toEqual([false, false, false, false, true]);
    for (const { rateLimit } of pages) {
      expect(rateLimit).toMatchObject({ quota: 1_000_000, windowSeconds: 60 });
      expect(rateLimit?.remaining).toBeLessThan(1_000_000);
      expect(rateLimit?.resetSeconds).toBeLessThanOrEqual(60);
    }
  });

  test('accepts the documented filters, dates as Date objects, and ignores undefined ones', async () => {
    const ids = async (list: AsyncIterable<{ id: string }>): Promise<string[]> =>
      (await Array.fromAsync(list)).map(({ id }) => id);
    const found = async (path: string): Promise<string[]> => (await recordsOf(path)).map(({ id }) => id);
    const at = '2026-04-01T12:30:00.250Z';
    expect(await ids(client.solicitations.list({ closing_after: new Date(at), status: 'open', q: undefined }))).toEqual(
      await found(`/v1/solicitations?status=open&closing_after=${at}`),
    );
    // Untyped callers can pass null.
    const nothing = { q: null, status: null } as unknown as { q?: string };
    expect(await ids(client.solicitations.list(nothing))).toEqual(await found('/v1/solicitations'));
    expect(await ids(client.suppliers.list({ certifications: ['MBE', 'DBE'], state: 'md' }))).toEqual(
      await found('/v1/suppliers?certifications=MBE,DBE&state=md'),
    );
    expect(await ids(client.contracts.list({ q: 'fire & "hoses" +50%' }))).toEqual(
      await found(`/v1/contracts?q=${encodeURIComponent('fire & "hoses" +50%')}`),
    );
    expect(await ids(client.contracts.list({ q: 'fire', limit: 100 }))).toEqual(await found('/v1/contracts?q=fire'));
  });

  test('with the watermark of an earlier listing yields exactly the changes since then', async () => {
    const [{ watermark } = { watermark: '' }] = await Array.fromAsync(client.suppliers.list().pages());
    const since = async (from: string): Promise<string[]> =>
      (await Array.fromAsync(client.suppliers.list({ updated_since: from }))).map(({ id }) => id);
    expect(await since(watermark)).toEqual([]);
    await publishLines(service.database, {
      certifications: [
        { abbreviation: 'MBE', name: 'Minority Business Enterprise', type: 'sbe' },
        { abbreviation: 'ISO', name: 'Quality, certified', type: 'technical' },
      ],
      'city-services': [{ id: 'cs_1', name: 'Paving' }],
      suppliers: [supplier('sup_new')],
    });
    await service.noticeChanges();
    expect(await since(watermark)).toEqual(['sup_new']);
  });
});

describe('single responses', () => {
  test('are details, of solicitations by id and by ref', async () => {
    const [contract] = await recordsOf('/v1/contracts?q=asphalt');
    expect(await client.contracts.get(contract?.id ?? '')).toEqual(contract);
    expect((await client.suppliers.get('sup_pa_swank_construction_company_llc_1949')).name).toMatch(/^SWANK/);
    for await (const { id: solicitation, ref } of client.solicitations.list({ limit: 1 })) {
      const detail = await client.solicitations.get(solicitation);
      expect(detail).toMatchObject({ id: solicitation, ref });
      expect(detail.documents).toBeInstanceOf(Array);
      expect(await client.solicitations.get(ref)).toEqual(detail);
      break;
    }
  });

  test('are counts and the health', async () => {
    const found = await Array.fromAsync(client.solicitations.list({ q: 'services', limit: 100 }));
    expect(await client.solicitations.count({ q: 'services' })).toBe(found.length);
    expect(await client.solicitations.count()).toBeGreaterThan(found.length);
    const contracts = await Array.fromAsync(client.contracts.list({ q: 'services', limit: 100 }));
    expect(await client.contracts.count({ q: 'services' })).toBe(contracts.length);
    const suppliers = await Array.fromAsync(client.suppliers.list({ certifications: ['MBE'], limit: 100 }));
    expect(await client.suppliers.count({ certifications: ['MBE'] })).toBe(suppliers.length);
    expect(suppliers.length).toBeGreaterThan(0);
    expect(await client.health()).toEqual({ status: 'ok' });
  });
});

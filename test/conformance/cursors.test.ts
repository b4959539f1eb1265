import { describe, expect, test } from 'vitest';
import { dataOf, idsOf, nextCursorOf, type HttpResponse } from '../support/client.ts';
import { publishLines, solicitation, SMALL_CATALOG } from '../support/publishing.ts';
import { serviceForEachTest } from '../support/service.ts';

const solicitations = Array.from({ length: 20 }, (_, i) => solicitation(`sol_${String(i).padStart(2, '0')}`, i + 1));
const service = serviceForEachTest({
  catalog: { ...SMALL_CATALOG, solicitations },
  partners: [
    { name: 'one', everything: true },
    { name: 'two', everything: true },
  ],
});

interface Page {
  status: number;
  ids: string[];
  cursor: string | null;
  message?: string;
}

async function page(query: string, partner = 'one'): Promise<Page> {
  const response = await service.get(`/v1/${query}`, { key: service.partner(partner).key });
  const { status, body } = response;
  if (status !== 200) {
    const { error } = JSON.parse(body) as { error: { code: string; message: string } };
    return { status, ids: [], cursor: null, message: `${error.code}: ${error.message}` };
  }
  return { status, ids: idsOf(response), cursor: nextCursorOf(response) };
}

describe('a cursor', () => {
  test('still works after its record was removed and others were added before and after it', async () => {
    const { ids, cursor } = await page('solicitations?limit=5');
    expect(ids.at(-1)).toBe('sol_04');
    await publishLines(service.database, {
      solicitations: [
        { id: 'sol_04', deleted: true },
        { id: 'sol_05', deleted: true },
        solicitation('sol_03a', 100),
        solicitation('sol_04a', 101),
      ],
    });
    expect((await page(`solicitations?limit=3&cursor=${cursor}`)).ids).toEqual(['sol_04a', 'sol_06', 'sol_07']);
  });

  test.each([
    ['of another endpoint', 'suppliers?cursor=', 'one'],
    ['with an additional filter', 'solicitations?status=open&cursor=', 'one'],
    ['of another partner with the same scope', 'solicitations?cursor=', 'two'],
  ])('%s is rejected with advice', async (_case, query, partner) => {
    const { cursor } = await page('solicitations?limit=5');
    const refused = await page(query + String(cursor), partner);
    expect(refused.status).toBe(400);
    expect(refused.message).toMatch(/^validation_failed: .*cursor.*next_cursor/);
  });

  test('is the same for several values in another order or spelling, and not for others', async () => {
    const { cursor } = await page('suppliers?state=pa,md,PA&limit=1');
    expect((await page(`suppliers?state=MD,PA&cursor=${cursor}`)).ids).toEqual(['sup_2']);
    expect((await page(`suppliers?state=PA&cursor=${cursor}`)).message).toMatch(/"cursor" was not issued/);
  });

  test('is null if the last page is exactly full', async () => {
    expect(await page('solicitations?limit=20')).toMatchObject({ cursor: null });
    expect((await page('solicitations?limit=19')).cursor).not.toBeNull();
  });
});

describe('the header Link', () => {
  test.each([
    ['solicitations?q=paving', 6],
    ['changes?kinds=solicitations', 6],
    ['lead-entities?format=json&q=city', 1],
  ])(
    'leads through all pages of /v1/%s, each time it is requested, and is absent on the last',
    async (query, limit) => {
      const { key } = service.partner('one');
      const pages: HttpResponse[] = [];
      for (let next: string | undefined = `/v1/${query}&limit=${limit}`; next !== undefined;) {
        const page = await service.get(next, { key });
        expect(page.status).toBe(200);
        expect((await service.get(next, { key })).headers['link']).toBe(page.headers['link']);
        expect((await service.get(next, { key, method: 'HEAD' })).headers['link']).toBe(page.headers['link']);
        const headers = { 'if-none-match': page.headers.etag ?? '' };
        const { status, headers: unchanged } = await service.get(next, { key, headers });
        expect([status, unchanged['link']]).toEqual([304, page.headers['link']]);
        pages.push(page);
        next = /^<(\/v1\/[^>]*)>; rel="next"$/.exec(String(page.headers['link']))?.[1];
      }
      expect(pages.length).toBeGreaterThan(1);
      expect(dataOf(...pages)).toEqual(dataOf(...(await service.listAllPages(`/v1/${query}`, key, [100]))));
    },
  );
});

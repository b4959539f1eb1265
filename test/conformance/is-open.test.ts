import { afterAll, beforeAll, expect, test } from 'vitest';
import { SMALL_CATALOG, solicitation } from '../support/publishing.ts';
import { startService, type TestService } from '../support/service.ts';

const CLOSE_AT = '2026-06-01T12:00:00.000Z';

let service: TestService;
let nowMs = 0;

beforeAll(async () => {
  const closing = { ...solicitation('sol_1', 1), close_at: CLOSE_AT };
  const endless = { ...solicitation('sol_2', 2), close_at: null };
  const over = { ...solicitation('sol_3', 3), close_at: null, status: 'closed' };
  nowMs = Date.parse(CLOSE_AT) - 60_000;
  service = await startService({
    catalog: { ...SMALL_CATALOG, solicitations: [closing, endless, over] },
    clock: () => nowMs,
    partners: [{ name: 'all', everything: true }],
  });
});
afterAll(() => service.close());

interface Seen {
  status: number;
  etag: string;
  isOpen: (boolean | undefined)[];
}

async function get(path: string, etag?: string): Promise<Seen> {
  const { key } = service.partner('all');
  const { status, headers, body } = await service.get(path, {
    key,
    ...(etag !== undefined && { headers: { 'If-None-Match': etag } }),
  });
  const json = (status === 200 ? JSON.parse(body) : {}) as { data?: { is_open: boolean }[]; is_open?: boolean };
  return { status, etag: String(headers.etag), isOpen: (json.data ?? [json]).map(({ is_open }) => is_open) };
}

test('is_open becomes false at the millisecond of the deadline, while the status stays open', async () => {
  for (const [offsetMs, isOpen] of [
    [-1, true],
    [0, false],
    [1, false],
  ] as const) {
    nowMs = Date.parse(CLOSE_AT) + offsetMs;
    expect((await get('/v1/solicitations')).isOpen).toEqual([isOpen, true, false]);
    expect((await get('/v1/solicitations/sol_1')).isOpen).toEqual([isOpen]);
    expect((await get('/v1/solicitations/1')).isOpen).toEqual([isOpen]);
    expect((await get('/v1/solicitations?status=open')).isOpen).toEqual([isOpen, true]);
  }
});

test('closing_after and closing_before include the deadline itself, to the millisecond', async () => {
  const [before, after] = [-1, 1].map((ms) => new Date(Date.parse(CLOSE_AT) + ms).toISOString());
  for (const [filter, count] of [
    [`closing_before=${CLOSE_AT}`, 1],
    [`closing_before=${before}`, 0],
    [`closing_after=${CLOSE_AT}`, 1],
    [`closing_after=${after}`, 0],
  ] as const) {
    expect((await get(`/v1/solicitations?${filter}`)).isOpen, filter).toHaveLength(count);
  }
});

test.each(['/v1/solicitations', '/v1/solicitations/sol_1'])(
  'a 304 for %s never hides that a deadline has passed',
  async (path) => {
    nowMs = Date.parse(CLOSE_AT) - 1;
    const before = await get(path);
    expect(await get(path, before.etag)).toMatchObject({ status: 304, etag: before.etag });
    nowMs += 1;
    const after = await get(path, before.etag);
    expect(after.status).toBe(200);
    expect(after.isOpen[0]).toBe(false);
    expect(after.etag).not.toBe(before.etag);
    expect(await get(path, after.etag)).toMatchObject({ status: 304 });
  },
);

test('a ref is accepted in one spelling only, without leading zeros and up to 2^53', async () => {
  expect((await get('/v1/solicitations/1')).status).toBe(200);
  for (const ref of ['01', '0', '0001', '9007199254740993', '99999999999999999999']) {
    expect((await get(`/v1/solicitations/${ref}`)).status, ref).toBe(404);
  }
});

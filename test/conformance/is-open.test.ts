import { expect, test } from 'vitest';
import { SMALL_CATALOG, solicitation } from '../support/publishing.ts';
import { serviceForAllTests } from '../support/service.ts';

const CLOSE_AT = '2026-06-01T12:00:00.000Z';

let nowMs = Date.parse(CLOSE_AT) - 60_000;

const closing = { ...solicitation('sol_1', 1), close_at: CLOSE_AT };
const endless = { ...solicitation('sol_2', 2), close_at: null };
// Its deadline has passed, so that the other one is not the first.
const over = { ...solicitation('sol_3', 3), close_at: '2026-01-01T12:00:00.000Z', status: 'closed' };
const service = serviceForAllTests({
  catalog: { ...SMALL_CATALOG, solicitations: [closing, endless, over] },
  clock: () => nowMs,
  partners: [{ name: 'all', everything: true }],
});

async function get(path: string, etag?: string) {
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

const FORMS = ['', '&format=ndjson', '&format=csv'];

test.each([
  [-1, ['sol_1', 'sol_2'], ['sol_3']],
  [0, ['sol_2'], ['sol_1', 'sol_3']],
  [1, ['sol_2'], ['sol_1', 'sol_3']],
])('the filter is_open is right %i ms after a deadline, in every form and however often', async (ms, open, over) => {
  const { key } = service.partner('all');
  const ask = (path: string, headers = {}) => service.get(path, { key, headers });
  for (const [wanted, ids] of [
    ['true', open],
    ['false', over],
  ] as const) {
    for (const form of FORMS) {
      const path = `/v1/solicitations?is_open=${wanted}${form}`;
      // Whatever was cached, and whatever tag the client has, a millisecond before the deadline.
      nowMs = Date.parse(CLOSE_AT) - 1;
      const { headers } = await ask(path);
      await ask(path);
      nowMs = Date.parse(CLOSE_AT) + ms;
      const response = await ask(path, { 'if-none-match': headers.etag });
      expect(response.status, path).toBe(ms < 0 ? 304 : 200);
      if (ms >= 0) expect([...new Set(response.body.match(/sol_\d/g))], path).toEqual(ids);
      expect([...new Set((await ask(path)).body.match(/sol_\d/g))], path).toEqual(ids);
    }
    const count = `/v1/solicitations/count?is_open=${wanted}`;
    nowMs = Date.parse(CLOSE_AT) - 1;
    await ask(count);
    nowMs = Date.parse(CLOSE_AT) + ms;
    expect(JSON.parse((await ask(count)).body)).toEqual({ total: ids.length });
  }
  expect((await ask('/v1/solicitations/count?is_open=true&status=closed')).body).toBe('{"total":0}');
});

test('closing_after and closing_before include the deadline itself, to the millisecond', async () => {
  const [before, after] = [-1, 1].map((ms) => new Date(Date.parse(CLOSE_AT) + ms).toISOString());
  for (const [filter, count] of [
    [`closing_before=${CLOSE_AT}`, 2],
    [`closing_before=${before}`, 1],
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

import { afterEach, expect, test } from 'vitest';
import { forAllTests } from '../../test/support/lifetimes.ts';
import { contract, publishLines, solicitation, supplier } from '../../test/support/publishing.ts';
import { serviceForAllTests } from '../../test/support/service.ts';
import {
  createClient,
  UnexpectedAnswerError,
  ValidationFailedError,
  type Change,
  type ChangeFilters,
} from '../src/index.ts';
import { InterceptingProxy } from './support/intercepting-proxy.ts';

const OWNERS = { lead_entity_id: 'le_1', coop_id: null };

const service = serviceForAllTests({
  catalog: {
    'lead-entities': [{ id: 'le_1', name: 'Lead' }],
    'city-services': [{ id: 'cs_1', name: 'Paving' }],
    certifications: ['ISO', 'MBE'].map((name) => ({ abbreviation: name, name, type: 'sbe' })),
    suppliers: [supplier('sup_1')],
    contracts: Array.from({ length: 9 }, (_, index) => ({
      ...contract(`ctr_${index}`),
      ...OWNERS,
      supplier_ids: ['sup_1'],
    })),
    solicitations: Array.from({ length: 5 }, (_, index) => ({
      ...solicitation(`sol_${index}`, index + 1),
      lead_entity_id: 'le_1',
    })),
  },
  partners: [
    { name: 'all', everything: true },
    { name: 'contracts-only', everything: true, kinds: ['contracts'] },
  ],
});
const proxy = forAllTests(() => InterceptingProxy.start(Number(new URL(service.url).port)));
afterEach(() => proxy.intercept(null));

const clientOf = (partner = 'all') =>
  createClient({ baseUrl: proxy.url, apiKey: service.partner(partner).key, retry: { minDelayMs: 1 } });

/** A copy of what a listing has, and how it ended. */
async function read(filters: ChangeFilters, partner?: string) {
  const changes = clientOf(partner).changes(filters)[Symbol.asyncIterator]();
  const items: Change[] = [];
  for (;;) {
    const { value, done } = await changes.next();
    if (done === true) return { items, end: value };
    items.push(value);
  }
}

test('a first listing has every record with its details, whatever the size of its pieces', async () => {
  const { items, end } = await read({});
  expect(items).toHaveLength(15);
  expect(end.reset).toBe(true);
  const client = clientOf();
  for (const change of items) {
    if (change.removed === true) expect.fail('a complete listing has no removals');
    else if (change.kind === 'solicitations') expect(change.record).toEqual(await client.solicitations.get(change.id));
    else if (change.kind === 'suppliers') expect(change.record).toEqual(await client.suppliers.get(change.id));
    else expect(change.record).toEqual(await client.contracts.get(change.id));
  }
  for (const limit of [1, 4, 15]) expect(await read({ limit })).toEqual({ items, end });
});

test('a later listing has what changed and what was removed since, of the requested kinds', async () => {
  const { end } = await read({});
  await publishLines(service.database, {
    contracts: [
      { id: 'ctr_8', deleted: true },
      { ...contract('ctr_7'), ...OWNERS, name: 'Renamed', supplier_ids: ['sup_1'] },
    ],
    solicitations: [{ id: 'sol_4', deleted: true }],
  });
  await service.noticeChanges();
  const later = await read({ updated_since: end.watermark });
  expect(later.items.map(({ kind, id, removed }) => [kind, id, removed === true])).toEqual([
    ['contracts', 'ctr_7', false],
    ['contracts', 'ctr_8', true],
    ['solicitations', 'sol_4', true],
  ]);
  expect(later.end).toMatchObject({ reset: false, watermark: expect.any(String) as string });
  const some = await read({ updated_since: new Date(end.watermark), kinds: ['solicitations', 'suppliers'] });
  expect(some.items.map(({ id }) => id)).toEqual(['sol_4']);
  expect((await read({ updated_since: later.end.watermark })).items).toEqual([]);
  expect(new Set((await read({}, 'contracts-only')).items.map(({ kind }) => kind))).toEqual(new Set(['contracts']));
});

test('a piece that is cut at any of its bytes is read again, and no other piece', async () => {
  const whole = await read({});
  for (const cutAfter of [0, 1, 300, 750]) {
    proxy.intercept((_request, index) => (index === 1 ? { cutAfter } : {}));
    expect(await read({ limit: 6 })).toEqual(whole);
    const targets = proxy.passed.map(({ target }) => target);
    expect(targets).toEqual([targets[0], targets[1], targets[1], targets.at(-1)]);
  }
});

test('a piece that ends without its last line is read again, and then reported', async () => {
  const body = '{"kind":"contracts","id":"ctr_0","removed":true}\n';
  const respond = `HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`;
  proxy.intercept(() => ({ respond }));
  const error: unknown = await read({}).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(UnexpectedAnswerError);
  expect((error as Error).message).toContain('is not whole');
  expect(proxy.passed).toHaveLength(5);
});

test('an interrupted listing continues from the cursor of its last piece', async () => {
  const whole = await read({});
  const items: Change[] = [];
  let cursor: string | undefined;
  for await (const piece of clientOf().changes({ limit: 4 }).pieces()) {
    items.push(...piece.data);
    expect([piece.reset, piece.watermark]).toEqual([true, null]);
    cursor = piece.nextCursor ?? undefined;
    break;
  }
  const rest = await read({ cursor });
  expect([...items, ...rest.items]).toEqual(whole.items);
  expect(rest.end).toEqual(whole.end);
  await expect(read({ cursor, kinds: ['suppliers'] })).rejects.toThrow(ValidationFailedError);
});

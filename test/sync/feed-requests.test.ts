import { expect, test } from 'vitest';
import { setPartner } from '../../src/access/partner-admin.ts';
import { SMALL_CATALOG } from '../support/publishing.ts';
import { serviceForAllTests, startService } from '../support/service.ts';
import { FeedCopy } from './feed-copy.ts';

const service = serviceForAllTests({
  catalog: SMALL_CATALOG,
  partners: [
    { name: 'a', leadEntities: ['le_a'] },
    { name: 'suppliers-only', everything: true, kinds: ['suppliers'] },
  ],
});

test.each([
  ['kinds=coops', 'Parameter "kinds" must name different kinds of contracts, solicitations, suppliers'],
  ['kinds=contracts,contracts', 'Parameter "kinds" must name different kinds'],
  ['format=ndjson&limit=100001', 'Parameter "limit" must be a whole number from 1 to 100000'],
  ['kinds=', 'Parameter "kinds" is blank'],
  ['format=csv', 'Parameter "format" must be one of json, ndjson'],
  ['limit=101', 'Parameter "limit" must be a whole number from 1 to 100'],
  ['updated_since=yesterday', 'Parameter "updated_since" must be a date and time'],
  ['q=fire', 'Unknown parameter "q"'],
])('a listing of changes with ?%s is refused', async (query, message) => {
  const { status, body } = await service.get(`/v1/changes?${query}`, { key: service.partner('a').key });
  expect(status).toBe(400);
  expect(body).toContain(JSON.stringify(message).slice(1, -1));
});

test('a listing of changes keeps the kinds of its first page, even if the partner can read others by then', async () => {
  const { name, key } = service.partner('suppliers-only');
  const copy = new FeedCopy(key);
  await copy.read(service.get, { limit: 1 });
  await setPartner(service.database, Date.now, name, { kinds: null });
  await service.noticeChanges();
  await copy.read(service.get);
  expect([...copy.records.keys()]).toEqual(['suppliers sup_1', 'suppliers sup_2']);
});

test('a process that does not know yet that a partner can read more kinds lists them all', async () => {
  const partners = [{ name: 'k', everything: true, kinds: ['contracts' as const] }];
  await using other = await startService({ catalog: SMALL_CATALOG, partners, isPolling: false });
  const { name, key } = other.partner('k');
  for (const format of ['json', 'ndjson'] as const) {
    const copy = new FeedCopy(key);
    await setPartner(other.database, Date.now, name, { kinds: ['contracts'] });
    await other.noticeChanges();
    await copy.read(other.get, { format });
    await setPartner(other.database, Date.now, name, { kinds: null });
    await copy.read(other.get, { format });
    expect(new Set(Array.from(copy.records.keys(), (record) => record.split(' ')[0])).size).toBe(3);
  }
});

test('a listing of changes begins on the primary, since a replica can lack what the copy has already', async () => {
  const sources: unknown[] = [];
  const partners = [{ name: 'a', everything: true }];
  await using other = await startService({
    ...{ catalog: SMALL_CATALOG, partners, isPolling: false },
    watch: (database) => ({
      ...database,
      run: (...statement) => {
        sources.push([statement[0], statement[3]]);
        return database.run(...statement);
      },
    }),
  });
  const copy = new FeedCopy(other.partner('a').key);
  await copy.sync(other.get);
  for (const format of ['json', 'ndjson'] as const) {
    sources.length = 0;
    const [page] = await copy.sync(other.get, { format });
    expect([page?.items, page?.meta?.totals]).toEqual([[], { contracts: 2, solicitations: 2, suppliers: 2 }]);
    // Without news it is this statement alone: what is counted has been read.
    expect(sources).toEqual([['since', 'known']]);
  }
});

test('a listing of changes is JSON for those who accept only CSV', async () => {
  const { headers } = await service.get('/v1/changes', {
    key: service.partner('a').key,
    headers: { accept: 'text/csv' },
  });
  expect(headers['content-type']).toContain('application/json');
});

test('each line ends with the record, so that a reader can store its text', async () => {
  const { body } = await service.get('/v1/changes?format=ndjson&kinds=contracts', { key: service.partner('a').key });
  const [line = ''] = body.split('\n');
  const { body: detail } = await service.get('/v1/contracts/ctr_1', { key: service.partner('a').key });
  expect(line).toBe(`{"kind":"contracts","id":"ctr_1","record":${detail}}`);
});

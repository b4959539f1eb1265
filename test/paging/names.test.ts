import { expect, test } from 'vitest';
import { idsOf } from '../support/client.ts';
import { publishLines } from '../support/publishing.ts';
import { serviceForAllTests } from '../support/service.ts';

/** More than are read, or compared with the scope, at once. */
const NAMES = 1_700;

const idOf = (index: number): string => `le_${String(index).padStart(5, '0')}`;
const nameOf = (index: number): string => `${index % 3 === 0 ? 'County' : 'City'} of Nº ${index}`;
const COUNTIES = Array.from({ length: NAMES }, (_, index) => index).filter((index) => index % 3 === 0);

/** Far apart, at both ends, and one that is no county. */
const GRANTED = [0, 3, 900, 901, 1_698].map(idOf);

const service = serviceForAllTests({
  catalog: {
    'lead-entities': Array.from({ length: NAMES }, (_, index) => ({ id: idOf(index), name: nameOf(index) })),
  },
  partners: [{ name: 'all', everything: true }, { name: 'some', leadEntities: GRANTED }, { name: 'none' }],
});

async function search(partner: string, q: string, limit = 100): Promise<string[]> {
  const pages = await service.listAllPages(`/v1/lead-entities?q=${q}`, service.partner(partner).key, [limit]);
  expect(pages.map(({ status }) => status)).toEqual(pages.map(() => 200));
  return idsOf(...pages);
}

test('requests that search a long list at once each find all that their partner sees', async () => {
  const partners = ['all', 'some', 'none', 'all', 'some'];
  const found = await Promise.all(
    partners.map((partner, index) => search(partner, `counties&format=json`, 90 + index)),
  );
  const granted = COUNTIES.map(idOf).filter((id) => GRANTED.includes(id));
  expect(found).toEqual([COUNTIES.map(idOf), granted, [], COUNTIES.map(idOf), granted]);
  expect(await search('some', 'count', 1)).toEqual(granted);
  const { body } = await service.get('/v1/lead-entities?q=count&format=ndjson', { key: service.partner('all').key });
  expect(body.split('\n').slice(0, -1)).toEqual(
    COUNTIES.map((index) => JSON.stringify({ id: idOf(index), name: nameOf(index) })),
  );
});

test('a search finds a name of the last import, and no longer the one before', async () => {
  expect(await search('some', 'city')).toEqual([idOf(901)]);
  await publishLines(service.database, { 'lead-entities': [{ id: idOf(901), name: 'Borough of Étoile' }] });
  await service.noticeChanges();
  expect(await search('some', 'city')).toEqual([]);
  expect(await search('some', 'etoile')).toEqual([idOf(901)]);
});

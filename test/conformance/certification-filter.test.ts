import { expect, test } from 'vitest';
import { idsOf } from '../support/client.ts';
import { SMALL_CATALOG, supplier } from '../support/publishing.ts';
import { serviceForAllTests } from '../support/service.ts';

const certifications = [
  ...SMALL_CATALOG.certifications,
  { abbreviation: 'Q', name: 'Quality', type: 'technical' },
  { abbreviation: 'C', name: 'certified', type: 'technical' },
  { abbreviation: 'mbe', name: 'Other', type: 'sbe' },
];
const suppliers = [
  { ...supplier('sup_iso'), certifications: ['ISO'] },
  { ...supplier('sup_parts'), certifications: ['Q', 'C'] },
  { ...supplier('sup_lower'), certifications: ['mbe'] },
  { ...supplier('sup_upper'), certifications: ['MBE'] },
];
const service = serviceForAllTests({
  catalog: { ...SMALL_CATALOG, certifications, suppliers, contracts: [] },
  partners: [{ name: 'all', everything: true }],
});

async function holders(certifications: string): Promise<string[]> {
  const path = `/v1/suppliers?certifications=${encodeURIComponent(certifications).replaceAll('%2C', ',')}`;
  return idsOf(await service.get(path, { key: service.partner('all').key }));
}

test.each([
  // ISO is "Quality, certified".
  ['Quality, certified', ['sup_iso']],
  ['quality, CERTIFIED', ['sup_iso']],
  ['certified,Quality', ['sup_parts']],
  ['Q,C', ['sup_parts']],
  ['MBE', ['sup_upper']],
  ['mbe', ['sup_lower']],
  ['Q,unknown', []],
  ['Q,MBE', []],
])('the filter %j matches %j', async (certifications, ids) => {
  expect(await holders(certifications)).toEqual(ids);
});

test('resolves a filter as long as a URL in linear time', async () => {
  expect(await holders(Array.from({ length: 3_500 }, (_, i) => `x${i % 10}`).join(','))).toEqual([]);
  expect(await holders(Array.from({ length: 3_500 }, () => 'Q').join(','))).toEqual(['sup_parts']);
});

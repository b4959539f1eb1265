import { expect, test } from 'vitest';
import { generatedRecords } from '../support/generated-records.ts';
import { askedCertifications, bound } from './filters.ts';
import { servedSupplier } from './served.ts';
import type { Records, Supplier } from './records.ts';
import { isFound, searchedText } from './words.ts';

/* The model is the reference for the service, so it is tested by hand-written examples from its specification. */

test.each([
  ['supplies', 'Office supply'],
  ['conc', 'Concrete paving'],
  ['ecole', 'École'],
  ['ÉCOLE', 'ecole primaire'],
  ['RFP-2024-017', 'RFP-2024-017'],
  ['2024-017', 'RFP-2024-017'],
  ['fire fighting', 'ﬁre-ﬁghting'],
  ['istanbul', 'İstanbul'],
  ['"office" %supply*', 'Supplies for the office'],
])('%j finds %j', (q, text) => expect(isFound(searchedText(text), q)).toBe(true));

test.each([
  ['oncrete', 'Concrete'],
  ['office paper', 'Office supply'],
  ['***', 'Anything'],
  ['20240', 'RFP-2024-017'],
])('%j does not find %j', (q, text) => expect(isFound(searchedText(text), q)).toBe(false));

test('of the names that begin a list of certifications, the longest is taken', () => {
  const known = [
    { abbreviation: 'F', name: 'Fire', type: 'sbe' as const },
    { abbreviation: 'FS', name: 'Fire, Safety', type: 'sbe' as const },
    { abbreviation: 'R', name: 'Rescue', type: 'sbe' as const },
  ];
  const asked = (list: string): string[] | undefined => askedCertifications(list, known)?.map((it) => it.abbreviation);
  expect(asked('Fire, Safety,Rescue')).toEqual(['FS', 'R']);
  expect(asked('Fire,Rescue')).toEqual(['F', 'R']);
  expect(asked('R,Fire, Safety')).toEqual(['R', 'FS']);
  expect(asked('Fire,Nothing')).toBeUndefined();
});

test.each([
  [12, 12, 5, 5],
  [12, 2, 8, 2],
  [3, 12, 3, 7],
  [4, 4, 4, 4],
])('the preview of %i and %i certifications shows %i and %i of them', (sbe, technical, sbeShown, technicalShown) => {
  const held = [...abbreviations('s', sbe), ...abbreviations('t', technical)];
  const certifications = new Map(
    held.map((it) => [it, { abbreviation: it, name: it, type: it.startsWith('s') ? 'sbe' : 'technical' }]),
  );
  const supplier = { states_served: [], certifications: held.reverse() } as unknown as Supplier;
  const records = { certifications } as unknown as Records;
  expect(servedSupplier(supplier, records, 'list')['certifications']).toEqual([
    ...abbreviations('s', sbe).slice(0, sbeShown),
    ...abbreviations('t', technical).slice(0, technicalShown),
  ]);
});

test('a bound is understood in each of its forms', () => {
  for (const text of ['2026-04-15T09:00:00Z', '2026-04-15t11:00:00.0009+02:00', '2026-04-15T11:00:00 02:00']) {
    expect(bound(text)).toBe('2026-04-15T09:00:00.000Z');
  }
});

test('the same seed generates the same records, another one others', () => {
  expect(generatedRecords(1)).toEqual(generatedRecords(1));
  expect(generatedRecords(1)).not.toEqual(generatedRecords(2));
});

function abbreviations(letter: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${letter}${String(index).padStart(2, '0')}`);
}

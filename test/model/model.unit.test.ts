import { expect, test } from 'vitest';
import { generatedRecords } from '../support/records/generated-records.ts';
import { requestedCertifications, bound } from './filters.ts';
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

test('the longest name that begins a list of certifications wins', () => {
  const known = [
    { abbreviation: 'F', name: 'Fire', type: 'sbe' as const },
    { abbreviation: 'FS', name: 'Fire, Safety', type: 'sbe' as const },
    { abbreviation: 'R', name: 'Rescue', type: 'sbe' as const },
  ];
  const requested = (list: string): string[] | undefined =>
    requestedCertifications(list, known)?.map((certification) => certification.abbreviation);
  expect(requested('Fire, Safety,Rescue')).toEqual(['FS', 'R']);
  expect(requested('Fire,Rescue')).toEqual(['F', 'R']);
  expect(requested('R,Fire, Safety')).toEqual(['R', 'FS']);
  expect(requested('Fire,Nothing')).toBeUndefined();
});

test.each([
  [12, 12, 5, 5],
  [12, 2, 8, 2],
  [3, 12, 3, 7],
  [4, 4, 4, 4],
])(
  'of %i sbe and %i technical certifications, the preview shows %i and %i',
  (sbe, technical, sbeShown, technicalShown) => {
    const held = [...abbreviations('s', sbe), ...abbreviations('t', technical)];
    const certifications = new Map(
      held.map((abbreviation) => [
        abbreviation,
        { abbreviation: abbreviation, name: abbreviation, type: abbreviation.startsWith('s') ? 'sbe' : 'technical' },
      ]),
    );
    const supplier = { states_served: [], certifications: held.reverse() } as unknown as Supplier;
    const records = { certifications } as unknown as Records;
    expect(servedSupplier(supplier, records, 'list')['certifications']).toEqual([
      ...abbreviations('s', sbe).slice(0, sbeShown),
      ...abbreviations('t', technical).slice(0, technicalShown),
    ]);
  },
);

test('a timestamp parameter is accepted in each notation', () => {
  for (const text of ['2026-04-15T09:00:00Z', '2026-04-15t11:00:00.0009+02:00', '2026-04-15T11:00:00 02:00']) {
    expect(bound(text)).toBe('2026-04-15T09:00:00.000Z');
  }
});

test('equal seeds generate equal records, and different seeds different ones', () => {
  expect(generatedRecords(1)).toEqual(generatedRecords(1));
  expect(generatedRecords(1)).not.toEqual(generatedRecords(2));
});

function abbreviations(letter: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${letter}${String(index).padStart(2, '0')}`);
}

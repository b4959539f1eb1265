import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KINDS } from '../../src/kinds.ts';
import { lineHash } from '../../src/publishing/read/lines.ts';
import { completerOf, FIELDS, RECORD_SCHEMAS } from '../../src/publishing/read/record-schemas.ts';
import type { Fields, ImportSchema } from '../../src/resources/fields.ts';
import { fieldRenderer, readFields } from '../../src/resources/rendered-fields.ts';

/** Values that the schema allows, or would but for their characters. */
function valuesOf(schema: ImportSchema): fc.Arbitrary<unknown> {
  const { type, items, properties } = schema;
  if (Array.isArray(type)) return fc.option(valuesOf({ ...schema, type: type[0] ?? '' }), { nil: null });
  if (Array.isArray(schema['enum'])) return fc.constantFrom<unknown>(...(schema['enum'] as unknown[]));
  if (schema['format'] === 'timestamp') return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
  if (type === 'integer') return fc.maxSafeInteger();
  if (type === 'boolean') return fc.boolean();
  if (type === 'array' && items !== undefined) return fc.array(valuesOf(items), { maxLength: 3 });
  if (properties === undefined) return fc.string({ unit: 'binary' });
  const entries = Object.entries(properties).map(([name, property]) => [name, valuesOf(property)] as const);
  return fc.record(Object.fromEntries(entries));
}

test.each(KINDS)('reading back what was rendered of %s gives the record', (kind) => {
  const fields: Fields = FIELDS[kind];
  const complete = completerOf(RECORD_SCHEMAS[kind]) as (value: unknown) => Record<string, unknown>;
  const renderParts = [fieldRenderer(fields, 'list'), fieldRenderer(fields, 'detail only')];

  fc.assert(
    fc.property(valuesOf(RECORD_SCHEMAS[kind]).map(complete), (record) => {
      const textOf = (to: string, key: string): string =>
        JSON.stringify({ [to === 'certifications' ? 'abbreviation' : 'id']: key, name: '"id":"' });
      const parts = renderParts.map((render) => render(record, textOf)).filter((part) => part !== '');
      const read = readFields(fields, JSON.parse(`{${parts.join(',')}}`) as object);
      // Columns have the other fields.
      const elsewhere = Object.entries(fields).flatMap(([name, { served, isAdded }]) =>
        (served === null || isAdded === true) && name in record ? [name] : [],
      );
      const others = Object.fromEntries(elsewhere.map((name) => [name, record[name]]));
      expect(Object.keys(read).length + elsewhere.length).toBe(Object.keys(record).length);
      expect(complete({ ...read, ...others })).toEqual(record);
    }),
    { numRuns: 50 },
  );
});

test('ten thousand lines that differ have as many hashes, so that no change is taken for none', () => {
  const hashes = Array.from({ length: 10_000 }, (_, index) => lineHash(Buffer.from(`{"id":"ctr_${index}"}`)));
  expect(new Set(hashes).size).toBe(hashes.length);
});

import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { expect, test } from 'vitest';

interface Guard {
  alter(csv: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[];
}

/** The explorer's modules are JavaScript, whose types the portal checks. */
const MODULE = new URL('../../portal/src/explorer/formulas.js', import.meta.url).href;
const { FormulaGuard } = (await import(MODULE)) as { FormulaGuard: new () => Guard };

function alter(chunks: readonly Uint8Array<ArrayBuffer>[]): string {
  const guard = new FormulaGuard();
  return Buffer.concat(chunks.flatMap((chunk) => guard.alter(chunk))).toString();
}

const csvOf = (rows: string[][]): string => stringify(rows, { record_delimiter: 'windows', quoted_match: /[\r\n]/ });

test('only cells that begin like a formula get an apostrophe, wherever chunks end', () => {
  const cell = fc.oneof(
    fc
      .array(fc.constantFrom('=', '+', '-', '@', '\t', '\r', '\n', '"', ',', "'", 'a', '1', 'é', ' '))
      .map((all) => all.join('')),
    fc.constantFrom('=1+1', '-5', '"=x"', ',=x', 'a=b', '@SUM(A1)', '\r\n=x', ''),
  );
  const rows = fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(rows, fc.array(fc.nat({ max: 12 }), { minLength: 1 }), (made, lengths) => {
      const bytes = new TextEncoder().encode(csvOf(made));
      const chunks: Uint8Array<ArrayBuffer>[] = [];
      for (let offset = 0, index = 0; offset < bytes.length; index += 1) {
        const end = offset + 1 + (lengths[index % lengths.length] ?? 0);
        chunks.push(bytes.slice(offset, end));
        offset = end;
      }
      const expected = made.map((row) => row.map((text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text)));
      expect(parse(alter(chunks), { record_delimiter: '\r\n' })).toEqual(expected);
    }),
  );
});

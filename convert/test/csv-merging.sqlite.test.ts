import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ImportReport } from '../../src/publishing/publish.ts';
import { createTestDatabase } from '../../test/support/database.ts';
import { publishDirectory } from '../../test/support/publishing.ts';
import { convertedCsv, type Converted } from './convert.ts';

/** As portals export contracts: one row for each contract and supplier. */
const HEADER = 'Contract,Title,Agency,Vendor,City,State,E-mail,Service,Expires';

const MAP = {
  kinds: {
    contracts: {
      file: 'c.csv',
      fields: {
        id: { id_from: 'Contract', prefix: 'ctr_' },
        name: 'Title',
        summary: { text: 'Expires {Expires}.' },
        lead_entity_id: { id_from: 'Agency', prefix: 'le_', creates: 'lead-entities' },
        supplier_ids: {
          ...{ id_from: 'Vendor', prefix: 'sup_', creates: 'suppliers' },
          fields: { location: { text: '{City}, {State}' }, email: 'E-mail' },
        },
        city_service_ids: { id_from: 'Service', prefix: 'cs_', separator: ';', creates: 'city-services' },
      },
    },
  },
};

const converted = (rows: readonly string[], map: object = MAP): Promise<Converted> =>
  convertedCsv(map, { 'c.csv': [HEADER, ...rows].join('\n') });

/** The reports of publishing what was converted twice. */
async function published(directories: readonly string[]): Promise<ImportReport[]> {
  const made = await createTestDatabase();
  try {
    const reports: ImportReport[] = [];
    for (const directory of directories) reports.push(await publishDirectory(made.database, directory));
    return reports;
  } finally {
    await made.drop();
  }
}

const ACME = 'C-1,Salt,Works,Acme,Peoria,IL,a@acme.example,Roads,1/5/2027';
const BOLT = 'C-1,Salt,Works,Bolt,Elgin,IL,b@bolt.example,Roads;Parks,1/5/2027';
const OTHER = 'C-2,Hoses,Fire,Acme,Peoria,IL,a@acme.example,Fire,';

test('rows of one contract and several suppliers become one contract with all of them', async () => {
  const { records, refusals, report } = await converted([ACME, OTHER, ACME, BOLT]);
  expect(refusals).toEqual([]);
  expect(report['merged']).toEqual({ contracts: { records: 1, rows: 3 } });
  const [acme, bolt] = records('suppliers');
  expect([acme, bolt]).toMatchObject([
    { name: 'Acme', location: 'Peoria, IL', email: 'a@acme.example' },
    { name: 'Bolt', location: 'Elgin, IL', email: 'b@bolt.example' },
  ]);
  expect(records('contracts')).toMatchObject([
    { name: 'Salt', summary: 'Expires 1/5/2027.', supplier_ids: [acme?.['id'], bolt?.['id']] },
    { name: 'Hoses', summary: null, supplier_ids: [acme?.['id']] },
  ]);
  expect(records('contracts')[0]?.['city_service_ids']).toHaveLength(2);
});

describe('values of rows with one id', () => {
  test('that differ are refused with both rows', async () => {
    const { refusals } = await converted([ACME, OTHER, BOLT.replace('Salt', 'Road salt')]);
    expect(refusals).toEqual([
      expect.stringMatching(
        /^c\.csv: row [24] \(ctr_c_1_\w+\): name: column "Title": "(Salt|Road salt)" differs from "(Salt|Road salt)" in row [24] of c\.csv; rows with one id must have equal values, or blanks$/,
      ),
    ]);
  });

  test('are refused if only all together are too long for an import', async () => {
    const services = (letter: string): string =>
      Array.from({ length: 2300 }, (_, index) => `${letter} ${index} ${'of a long name '.repeat(3)}`).join(';');
    const rows = ['a', 'b'].map((letter) => ACME.replace('Roads', services(letter)));
    const { refusals, records } = await converted([...rows, OTHER]);
    expect(refusals).toEqual([
      expect.stringMatching(
        /^c\.csv: row \d+ \(ctr_c_1_\w+\): together with other rows: is \d+ bytes long; the maximum/,
      ),
    ]);
    expect(records('contracts')).toMatchObject([{ name: 'Hoses' }]);
  });

  test('are equal whatever their case and spacing, and a blank cell adds nothing', async () => {
    const rows = [ACME, ACME.replace('Salt', ' SALT'), ACME.replace('a@acme.example', '').replace('1/5/2027', '')];
    const { files, refusals } = await converted(rows);
    expect(refusals).toEqual([]);
    expect(files).toEqual((await converted([ACME])).files);
  });

  test('are counted as in a spreadsheet, also after line breaks in cells and blank lines', async () => {
    const { refusals } = await converted([ACME.replace('Salt', '"Sa\nlt"'), '', ',,, ,,,,,', BOLT, ',,,,,,,,']);
    expect(refusals).toEqual([expect.stringMatching(/^c\.csv: row (2|5) .* in row (2|5) of /)]);
  });
});

describe('what is left if refused records are skipped', () => {
  test('is no contract without one of its rows', async () => {
    const { records, refusals } = await converted([ACME, OTHER, 'C-1,,Works,Bolt,,,,,']);
    expect(refusals).toEqual(['c.csv: row 4: name: column "Title": blank, but every record needs a value']);
    expect(records('contracts')).toMatchObject([{ name: 'Hoses' }]);
  });

  test('is no contract of which one row is torn apart', async () => {
    const { records, refusals } = await converted([ACME, OTHER, 'C-1,Salt,Works,Bolt', HEADER]);
    expect(refusals).toEqual(['c.csv: row 4: has 4 cells for 9 columns; correct it, or leave it out by "rows"']);
    expect(records('contracts')).toMatchObject([{ name: 'Hoses' }]);
    expect(records('suppliers')).toMatchObject([{ name: 'Acme' }]);
  });

  test('is all that a refused row says of a supplier', async () => {
    const rows = [OTHER.replace('a@acme.example', ''), ACME.replace('Salt', '')];
    const { records, report } = await converted(rows);
    expect(report['refused']).toMatchObject([{ field: 'name', kinds: ['contracts'] }]);
    expect(records('contracts')).toMatchObject([{ name: 'Hoses' }]);
    expect(records('suppliers')).toMatchObject([{ name: 'Acme', email: 'a@acme.example' }]);
  });

  test('is no supplier of which one row was refused, and no contract of that supplier', async () => {
    const { records, report } = await converted([
      OTHER,
      ACME.replace('a@acme', 'a\0@acme'),
      BOLT.replace('C-1', 'C-3'),
    ]);
    expect(report['refused']).toMatchObject([
      { field: 'supplier_ids.email', kinds: ['contracts', 'suppliers'] },
      { field: 'supplier_ids', kinds: ['contracts'] },
    ]);
    expect(records('suppliers')).toMatchObject([{ name: 'Bolt' }]);
    expect(records('contracts')).toMatchObject([{ id: expect.stringMatching(/^ctr_c_3_/) as string }]);
  });

  test('refers to nothing that was refused, and imports', async () => {
    const third = 'C-3,Mowing,Parks,Bolt,Elgin,IL,b@bolt.example,Parks,';
    const { records, refusals, directory } = await converted([ACME, third, OTHER.replace('Peoria', 'Joliet')]);
    expect(refusals).toEqual([
      expect.stringMatching(
        /\(sup_acme_\w+\): location: column "City", "State": ".*" differs from ".*" in row [24] of /,
      ),
      expect.stringMatching(
        /^c\.csv: supplier_ids: refers to sup_acme_\w+, which is refused \(2 times: row 2, row 4\)$/,
      ),
    ]);
    expect(records('contracts')).toMatchObject([{ name: 'Mowing' }]);
    expect((await published([directory]))[0]?.timestamp).not.toBeNull();
  });

  test('has no supplier with a certification that was refused, and imports', async () => {
    const map = {
      kinds: {
        certifications: { file: 'c.csv', fields: { abbreviation: 'Code', name: 'Name', type: 'Type' } },
        suppliers: {
          file: 's.csv',
          fields: { id: 'Id', name: 'Name', certifications: { column: 'Certified', separator: ';' } },
        },
      },
    };
    const { records, refusals, directory } = await convertedCsv(map, {
      'c.csv': 'Code,Name,Type\nMBE,Minority-owned,sbe\nISO,ISO 9001,quality\n',
      's.csv': 'Id,Name,Certified\nsup_1,Acme,MBE;ISO\nsup_2,Bolt,MBE\n',
    });
    expect(refusals).toEqual([
      expect.stringMatching(/^c\.csv: row 3: type: /),
      's.csv: row 2 (sup_1): certifications: refers to ISO, which is refused',
    ]);
    expect(records('suppliers')).toMatchObject([{ id: 'sup_2' }]);
    expect((await published([directory]))[0]?.timestamp).not.toBeNull();
  });
});

test('a record of a file of its own replaces what other rows say of it', async () => {
  const suppliers = {
    file: 's.csv',
    fields: { id: { id_from: 'Vendor', prefix: 'sup_' }, name: 'Vendor', email: 'M' },
  };
  const { records, refusals } = await convertedCsv(
    { kinds: { ...MAP.kinds, suppliers } },
    { 'c.csv': [HEADER, ACME, BOLT].join('\n'), 's.csv': 'Vendor,M\nACME,sales@acme.example\n' },
  );
  expect(refusals).toEqual([]);
  const [acme, bolt] = records('suppliers');
  expect(acme).toEqual({ id: acme?.['id'], name: 'ACME', email: 'sales@acme.example' });
  expect(bolt).toMatchObject({ name: 'Bolt', email: 'b@bolt.example' });
});

test('suppliers in several columns of one row are mapped by an entry of the file for each', async () => {
  const entry = (vendor: string, other: string): object => ({
    file: 'c.csv',
    fields: {
      ...{ id: 'Id', name: 'Title', lead_entity_id: { constant: 'le_1' } },
      supplier_ids: { id_from: vendor, prefix: 'sup_', separator: '', creates: 'suppliers' },
    },
    ignore: other,
  });
  const { records, refusals } = await convertedCsv(
    { kinds: { contracts: [entry('Vendor 1', 'Vendor 2'), entry('Vendor 2', 'Vendor 1')] } },
    { 'c.csv': 'Id,Title,Vendor 1,Vendor 2\nc1,Salt,"Acme; Sons","Bolt|Nut"\nc2,Hoses,Bolt|Nut,\n' },
  );
  expect(refusals).toEqual([]);
  const [acme, bolt] = records('suppliers').map(({ id }) => id);
  expect(records('suppliers')).toMatchObject([{ name: 'Acme; Sons' }, { name: 'Bolt|Nut' }]);
  expect(records('contracts')).toMatchObject([{ supplier_ids: [acme, bolt] }, { supplier_ids: [bolt] }]);
});

/** Contracts of few ids, suppliers and services, so that many rows share one; each value follows from the id. */
const ROW = fc
  .record({
    contract: fc.integer({ min: 1, max: 4 }),
    vendor: fc.integer({ min: 0, max: 4 }),
    services: fc.array(fc.constantFrom('Roads', 'Parks', 'Fire', ' roads'), { maxLength: 3 }),
    expires: fc.boolean(),
    email: fc.boolean(),
    upper: fc.boolean(),
  })
  .map(({ contract, vendor, services, expires, email, upper }) => {
    const title = `Title ${contract}`;
    return [
      ...[`C-${contract}`, upper ? title.toUpperCase() : title, `Agency ${contract % 2}`],
      ...(vendor === 0 ? ['', '', ''] : [`Vendor ${vendor}`, `City ${vendor}`, 'IL']),
      ...[email && vendor > 0 ? `v${vendor}@example.com` : '', services.join(';'), expires ? `1/${contract}/2027` : ''],
    ].join(',');
  });

test(
  'any order and repetition of rows gives the same bytes, with each entry of each row',
  { timeout: 120_000 },
  async () => {
    const cases = fc
      .array(ROW, { minLength: 1, maxLength: 12 })
      .chain((rows) =>
        fc.tuple(fc.constant(rows), fc.shuffledSubarray([...rows, ...rows], { minLength: rows.length * 2 })),
      );
    await fc.assert(
      fc.asyncProperty(cases, async ([rows, shuffled]) => {
        const { files, refusals, records } = await converted(rows);
        expect(refusals).toEqual([]);
        expect((await converted(shuffled)).files).toEqual(files);
        const vendors = new Map(records('suppliers').map(({ id, name }) => [id, name]));
        for (const { name, supplier_ids: ids } of records('contracts')) {
          const own = rows
            .map((row) => row.split(','))
            .filter(([, title]) => title?.toLowerCase() === String(name).toLowerCase());
          const expected = own.flatMap(([, , , vendor = '']) => (vendor === '' ? [] : [vendor]));
          expect(new Set((ids as string[]).map((id) => vendors.get(id)))).toEqual(new Set(expected));
          expect(ids).toHaveLength(new Set(expected).size);
        }
      }),
      { numRuns: 40 },
    );
  },
);

test(
  'whatever is converted imports, and imports again in another order without a change',
  { timeout: 120_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(ROW, { minLength: 1, maxLength: 12 }), async (rows) => {
        const directories = [await converted(rows), await converted(rows.toReversed())].map(
          ({ directory }) => directory,
        );
        const [first, second] = await published(directories);
        expect(first?.timestamp).not.toBeNull();
        expect(second?.timestamp).toBeNull();
      }),
      { numRuns: 10 },
    );
  },
);

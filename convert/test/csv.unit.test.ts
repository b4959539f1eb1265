import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { sketchMap } from '../src/csv/sketch-map.ts';
import { convertedCsv, FIELDS, filesOf } from './convert.ts';

/** As a spreadsheet saves it: a byte order mark, CRLF, quotes, line breaks in cells, blanks. */
const CONTRACTS = [
  '\uFEFFContract Number,Title,Department,Vendor(s),Category,Expires,Notes',
  'C-001,"Road Salt, Bulk",Public Works,Acme Ltd; Bolt Inc,Paving,12/31/2026,',
  'C-002,"Fire ""A"" Hoses\nand Couplings",Fire Department , ACME  LTD ,Fire,1/5/2027,kept',
  '',
].join('\r\n');

const CONTRACTS_MAP = {
  time_zone: 'America/Chicago',
  kinds: {
    contracts: {
      file: 'contracts.csv',
      fields: {
        id: { id_from: ['Contract Number'], prefix: 'ctr_' },
        name: 'Title',
        lead_entity_id: { id_from: ['Department'], prefix: 'le_', creates: 'lead-entities' },
        supplier_ids: { id_from: ['Vendor(s)'], prefix: 'sup_', separator: ';', creates: 'suppliers' },
        city_service_ids: { id_from: ['Category'], prefix: 'cs_', separator: ';', creates: 'city-services' },
        updated_at: { column: 'Expires', format: 'M/d/yyyy' },
      },
      ignore: ['Notes'],
    },
  },
};

test('a table saved from a spreadsheet becomes contracts with what they refer to', async () => {
  const { records, names, refusals } = await convertedCsv(CONTRACTS_MAP, { 'contracts.csv': CONTRACTS });
  expect(refusals).toEqual([]);
  const [, second] = records('contracts').sort((a, b) => (String(a['name']) < String(b['name']) ? 1 : -1));
  expect(second).toMatchObject({ name: 'Fire "A" Hoses\nand Couplings', updated_at: '2027-01-05T06:00:00.000Z' });
  expect(names('lead-entities')).toEqual(['Fire Department', 'Public Works']);
  // The same words are the same supplier, whatever their case and spacing.
  expect(records('suppliers')).toHaveLength(2);
  expect(names('city-services')).toEqual(['Fire', 'Paving']);
});

describe('encodings', () => {
  const coops = { kinds: { coops: { file: 'coops.csv', fields: { id: 'Id', name: 'Name' } } } };
  const text = 'Id,Name\nco_1,Pe\u00F1a\nco_2,Pe\u00E9a\n';

  test.each([
    ['UTF-8', Buffer.from(text)],
    ['UTF-8 with a byte order mark', Buffer.from(`\uFEFF${text}`)],
    ['UTF-16 with a byte order mark', Buffer.from(`\uFEFF${text}`, 'utf16le')],
  ])('%s is read', async (_, content) => {
    const { records } = await convertedCsv(coops, { 'coops.csv': content });
    expect(records('coops').map(({ name }) => name)).toEqual(['Pe\u00F1a', 'Pe\u00E9a']);
  });

  test.each([
    ['windows-1252', Buffer.from('Id,Name\nco_1,\x93Pe\u00f1a\x94\n', 'latin1'), '\u201cPe\u00f1a\u201d'],
    ['macintosh', Buffer.from('Id,Name\nco_1,Pe\x96a\n', 'latin1'), 'Pe\u00f1a'],
    ['windows-1252', Buffer.from('\uFEFFId,Name\nco_1,Pe\u00f1a\n'), 'Pe\u00f1a'],
  ])('%s is read if the map names it, unless a byte order mark says otherwise', async (encoding, content, name) => {
    const map = { kinds: { coops: { ...coops.kinds.coops, encoding } } };
    const { records } = await convertedCsv(map, { 'coops.csv': content });
    expect(records('coops')).toMatchObject([{ name }]);
  });

  test('no other encoding than that of the map is read, which would change names', async () => {
    const named = { kinds: { coops: { ...coops.kinds.coops, encoding: 'windows-1252' } } };
    await expect(convertedCsv(named, { 'coops.csv': Buffer.from(text) })).rejects.toThrow(
      'coops.csv cannot be read: it is UTF-8; leave out "encoding"',
    );
    await expect(convertedCsv(coops, { 'coops.csv': Buffer.from(text, 'latin1') })).rejects.toThrow(
      'coops.csv cannot be read: it is not UTF-8; save it as "CSV UTF-8", or name its encoding in the map, such as',
    );
  });

  test.each([
    ['an archive or a workbook', Buffer.from('PK\x03\x04\x14\0\0\0')],
    ['an archive or a workbook', Buffer.from('d0cf11e0a1b11ae1', 'hex')],
    ['an archive or a workbook', gzipSync(text)],
    ['HTML or XML', Buffer.from('\uFEFF\n<!DOCTYPE html><title>Log in</title>')],
    ['JSON', Buffer.from('[{"Id": "co_1"}]')],
  ])('%s is refused as no CSV, whatever its name', async (format, content) => {
    await expect(convertedCsv(coops, { 'coops.csv': content })).rejects.toThrow(`cannot be read: it is ${format}`);
    await expect(sketchMap(filesOf({ 'coops.csv': content }), FIELDS)).rejects.toThrow(
      'no CSV; save it as "CSV UTF-8"',
    );
  });
});

describe('rows', () => {
  const coops = (others: object): object => ({
    kinds: { coops: { file: 'c.csv', fields: { id: 'Id', name: 'Name' }, ignore: ['Type', 'Fee'], ...others } },
  });
  const EXPORT = [
    'Co-ops;as of 11/23/2026',
    '',
    'Id;Name;Type;Fee;',
    'co_1;Salt, bulk;Active;1;',
    'Subtotal;;;1;',
    'co_2;Sand;CLOSED;1;',
    'co_3;Grit;Active;1;',
    'Total: 3;;;3;',
    'Printed by Fin; page 1;',
  ].join('\r\n');
  const RULES = { skip_if: { Type: ['closed', 'Draft *'], Id: 'sub*' }, until: { Id: 'TOTAL: *' } };

  test('that are no records are left out by the map, and counted', async () => {
    const { records, refusals, report } = await convertedCsv(coops({ rows: RULES }), { 'c.csv': EXPORT });
    expect(refusals).toEqual([]);
    expect(records('coops').map(({ name }) => name)).toEqual(['Salt, bulk', 'Grit']);
    expect(report['read']).toEqual({ 'rows of c.csv': 2 });
    expect(report['dropped']).toEqual({
      'rows of c.csv above its column names': 1,
      'rows of c.csv from rows.until on': 2,
      'rows of c.csv that rows.skip_if leaves out': 2,
    });
  });

  test('are refused if the end of the table is missing, as of a file that was cut short', async () => {
    const { refusals } = await convertedCsv(coops({ rows: RULES }), { 'c.csv': EXPORT.replace(/Total[^]*/, '') });
    expect(refusals).toEqual(['c.csv: has no line like rows.until; it could be cut short']);
  });

  test('are refused if they are records below what the map takes for the end', async () => {
    const map = coops({ rows: { until: { Id: '*total*' } } });
    expect((await convertedCsv(map, { 'c.csv': EXPORT })).refusals).toEqual([
      'c.csv: is below rows.until, but mostly filled; leave subtotals out by rows.skip_if (2 times: row 6, row 7)',
    ]);
  });

  test('begin below the line of column names that the map names', async () => {
    const content = 'Id,Name,Type,Fee\n(code),(text),,\nId,Name,Type,Fee\nco_1,Salt,,\n';
    const { records } = await convertedCsv(coops({ rows: { header_line: 3 } }), { 'c.csv': content });
    expect(records('coops')).toMatchObject([{ id: 'co_1' }]);
    await expect(convertedCsv(coops({ rows: { header_line: 9 } }), { 'c.csv': content })).rejects.toThrow(
      'c.csv has no row 9, of column names',
    );
  });

  test('that could be torn apart or moved are refused, and can be left out', async () => {
    const content = 'Id,Name,Type,Fee,\nco_1,Salt,,\nco_2,Sand,,,,x\nco_3,Grit,,,x\nco_4,Lime,,,,,\n';
    const { records, refusals } = await convertedCsv(coops({}), { 'c.csv': content });
    expect(refusals).toEqual([
      'c.csv: row 2: has 4 cells for 5 columns; correct it, or leave it out by "rows"',
      'c.csv: row 3: has 6 cells for 5 columns; correct it, or leave it out by "rows"',
      'c.csv: row 4: has text in a column without a name; name it, or ignore ""',
    ]);
    expect(records('coops')).toMatchObject([{ name: 'Lime' }]);
    const map = coops({ rows: { skip_if: { Id: ['co_1', 'co_2'] } }, ignore: ['Type', 'Fee', ''] });
    expect((await convertedCsv(map, { 'c.csv': content })).refusals).toEqual([]);
  });
});

describe('columns', () => {
  test.each([
    [
      'a renamed one',
      CONTRACTS.replace('Expires', 'Expiry'),
      'contracts.csv has no column "Expires", and has the column "Expiry", which the map neither uses nor ignores',
    ],
    [
      'an additional one',
      CONTRACTS.replace('Notes', 'Notes,Buyer'),
      'contracts.csv has the column "Buyer", which the map neither uses nor ignores',
    ],
    [
      'a repeated one',
      CONTRACTS.replace('Notes', 'Title'),
      'contracts.csv has no column "Notes", and has the column "Title" twice',
    ],
  ])('%s is refused by name', async (_, content, message) => {
    await expect(convertedCsv(CONTRACTS_MAP, { 'contracts.csv': content })).rejects.toThrow(message);
  });

  test('in another order they make no difference', async () => {
    const simple = { kinds: { coops: { file: 'coops.csv', fields: { id: 'Id', name: 'Name' } } } };
    const { files } = await convertedCsv(simple, { 'coops.csv': 'Id,Name\nco_1,One\n' });
    expect((await convertedCsv(simple, { 'coops.csv': 'Name,Id\nOne,co_1\n' })).files).toEqual(files);
  });
});

describe('cells', () => {
  const bids = (fields: object, ignore: string[] = []): object => ({
    time_zone: 'America/Phoenix',
    kinds: {
      solicitations: {
        file: 'bids.csv',
        fields: {
          id: { id_from: ['No'], prefix: 'sol_' },
          ref: { number_from: ['No'] },
          reference_number: 'No',
          title: 'Title',
          status: { column: 'Status', values: { Advertised: 'open', Awarded: 'awarded' } },
          lead_entity_id: { constant: 'le_city' },
          require_intent_registration: { constant: false },
          created_at: { column: 'Posted', format: 'MM/dd/yyyy h:mm a' },
          ...fields,
        },
        ignore,
      },
    },
  });

  test('NIGP codes need a separator', async () => {
    const content = { 'bids.csv': 'No,Title,Status,Posted,Codes\nB1,Salt,Awarded,03/01/2026 2:30 PM,92000;96200\n' };
    await expect(convertedCsv(bids({ nigp_codes: 'Codes' }), content)).rejects.toThrow('separator is missing');
    const { records } = await convertedCsv(bids({ nigp_codes: { column: 'Codes', separator: ';' } }), content);
    expect(records('solicitations')).toMatchObject([{ nigp_codes: [{ code: '92000' }, { code: '96200' }] }]);
  });

  const table = (...rows: string[]): Record<string, string> => ({
    'bids.csv': ['No,Title,Status,Posted', ...rows].join('\n'),
  });
  const GOOD = 'B1,Salt,Advertised,03/01/2026 2:30 PM';

  test('are looked up, read as dates in the zone, and numbered', async () => {
    const { records } = await convertedCsv(bids({}), table(GOOD));
    expect(records('solicitations')).toMatchObject([
      {
        id: expect.stringMatching(/^sol_b1_[0-9a-f]{12}$/) as string,
        status: 'open',
        created_at: '2026-03-01T21:30:00.000Z',
      },
    ]);
    expect(records('solicitations')[0]?.['ref']).toBeGreaterThan(0);
  });

  test.each([
    [
      'B1,Salt,Draft,03/01/2026 2:30 PM',
      'row 2: status: column "Status": "Draft" is not in the map\'s values; listed are "Advertised", "Awarded"',
    ],
    [
      'B1,Salt,Awarded,2026-03-01',
      'row 2: created_at: column "Posted": "2026-03-01" does not have the format MM/dd/yyyy h:mm a',
    ],
    [
      'B1,Salt,Awarded,02/30/2026 2:30 PM',
      'row 2: created_at: column "Posted": "02/30/2026 2:30 PM" does not have the format MM/dd/yyyy h:mm a',
    ],
    [
      'B1,Salt,Awarded,12/31/9999 11:59 PM',
      'row 2: created_at: column "Posted": "12/31/9999 11:59 PM" is not in the years 0 to 9999 in UTC',
    ],
    ['B1, ,Awarded,03/01/2026 2:30 PM', 'row 2: title: column "Title": blank, but every record needs a value'],
  ])('%s: %s', async (rows, message) => {
    const { refusals } = await convertedCsv(bids({}), table(rows));
    expect(refusals).toHaveLength(1);
    expect(refusals[0]).toContain(message);
  });

  test('NIGP codes can have hyphens and spaces, and are refused with another number of digits', async () => {
    const map = bids({ nigp_codes: { column: 'Codes', separator: ';' } });
    const content = (codes: string): Record<string, string> => ({
      'bids.csv': `No,Title,Status,Posted,Codes\nB1,Salt,Awarded,03/01/2026 2:30 PM,${codes}\n`,
    });
    const { records } = await convertedCsv(map, content('920-45; 962 58; 92045;005;05-20; 5'));
    const codes = ['92045', '96258', '005', '00520'].map((code) => ({ code, description: '' }));
    expect(records('solicitations')).toMatchObject([{ nigp_codes: codes }]);
    expect((await convertedCsv(map, content('920-4'))).refusals).toEqual([
      'bids.csv: row 2: nigp_codes: column "Codes": "920-4" is not an NIGP code of 3, 5, 7 or 11 digits; hyphens and spaces between them are left out',
    ]);
  });

  test('NIGP codes have their descriptions from another column, which other rows can add', async () => {
    const map = bids({ nigp_codes: { column: 'Codes', separator: ';', description: 'Of' } });
    const content = (...cells: string[]): Record<string, string> => ({
      'bids.csv': `No,Title,Status,Posted,Codes,Of\n${cells.map((one) => `B1,Salt,Awarded,03/01/2026 2:30 PM,${one}\n`).join('')}`,
    });
    const { records, refusals } = await convertedCsv(
      map,
      content('5-20;920,Grit;Data', '005,', '005,Salt; fine', '920,DATA'),
    );
    expect(refusals).toEqual([]);
    expect(records('solicitations')).toMatchObject([
      {
        nigp_codes: [
          { code: '005', description: 'Salt; fine' },
          { code: '00520', description: 'Grit' },
          { code: '920', description: 'Data' },
        ],
      },
    ]);
    expect((await convertedCsv(map, content('005;920,Salt'))).refusals).toEqual([
      'bids.csv: row 2: nigp_codes: column "Codes": has 2 codes, but 1 descriptions',
    ]);
  });

  test('dates can have several formats, if each date fits one', async () => {
    const dates = (format: string | string[]): object => bids({ close_at: { column: 'Due', format } }, []);
    const content = (due: string): Record<string, string> => ({
      'bids.csv': `No,Title,Status,Posted,Due\nB1,Salt,Awarded,03/01/2026 2:30 PM,"${due}"\n`,
    });
    const formats = ['M/d/yyyy', 'MMM d, yyyy'];
    for (const due of ['3/14/2026', 'Mar 14, 2026']) {
      const { records } = await convertedCsv(dates(formats), content(due));
      expect(records('solicitations')).toMatchObject([{ close_at: '2026-03-14T07:00:00.000Z' }]);
    }
    expect((await convertedCsv(dates(formats), content('2026'))).refusals).toEqual([
      'bids.csv: row 2: close_at: column "Due": "2026" does not have the format M/d/yyyy or MMM d, yyyy',
    ]);
    expect((await convertedCsv(dates(['M/d/yyyy', 'd/M/yyyy']), content('3/4/2026'))).refusals).toEqual([
      'bids.csv: row 2: close_at: column "Due": "3/4/2026" is a different time in each of the formats M/d/yyyy and d/M/yyyy',
    ]);
  });

  test('words for none are blank cells, in the map or in one field', async () => {
    const map = {
      none: ['N/A'],
      kinds: {
        contracts: {
          file: 'c.csv',
          fields: {
            id: 'Id',
            name: 'Name',
            lead_entity_id: 'Lead',
            supplier_ids: { id_from: 'Vendor', prefix: 'sup_', separator: ';', creates: 'suppliers' },
            summary: { text: ['Expires {End}.', 'Renewals: {Renewals}.'], none: 'tbd' },
          },
        },
      },
    };
    const rows = ['c1,TBD,le_1,n/a,TBD,2', 'c2,Salt,le_1,Acme; N/A ,1/5/2027,N/A', 'c3,Salt,le_1,,,'];
    const { records, refusals } = await convertedCsv(map, {
      'c.csv': ['Id,Name,Lead,Vendor,End,Renewals', ...rows].join('\n'),
    });
    expect(refusals).toEqual([]);
    expect(records('contracts')).toMatchObject([
      { name: 'TBD', supplier_ids: [], summary: 'Renewals: 2.' },
      { supplier_ids: [expect.stringMatching(/^sup_acme_/)], summary: 'Expires 1/5/2027.' },
      { summary: null },
    ]);
    expect(records('suppliers')).toMatchObject([{ name: 'Acme' }]);
  });

  test('a blank optional cell is null, or the given value', async () => {
    const content = { 'bids.csv': 'No,Title,Status,Posted,Text\nB1,Salt,Awarded,03/01/2026 2:30 PM,\n' };
    const plain = await convertedCsv(bids({ description: 'Text' }), content);
    expect(plain.records('solicitations')).toMatchObject([{ description: null }]);
    const given = await convertedCsv(bids({ description: { column: 'Text', blank: 'None given' } }), content);
    expect(given.records('solicitations')).toMatchObject([{ description: 'None given' }]);
  });
});

test.each([
  ['one column', ['Agency'], 'Id,Name,Agency\nc1,Salt,Works\n', 'Works'],
  ['two columns', ['Agency', 'Division'], 'Id,Name,Agency,Division\nc1,Salt,Works,Roads\n', 'Works Roads'],
])('a record that is made from %s has the id that refers to it', async (_, columns, content, name) => {
  const leadEntity = { id_from: columns, prefix: 'le_', creates: 'lead-entities' };
  const fields = { id: 'Id', name: 'Name', lead_entity_id: leadEntity };
  const map = { kinds: { contracts: { file: 'c.csv', fields } } };
  const { records } = await convertedCsv(map, { 'c.csv': content });
  expect(records('lead-entities')).toEqual([{ id: records('contracts')[0]?.['lead_entity_id'], name }]);
});

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
  const { records, refusals } = await convertedCsv(CONTRACTS_MAP, { 'contracts.csv': CONTRACTS });
  expect(refusals).toEqual([]);
  const [, second] = records('contracts').sort((a, b) => (String(a['name']) < String(b['name']) ? 1 : -1));
  expect(second).toMatchObject({ name: 'Fire "A" Hoses\nand Couplings', updated_at: '2027-01-05T06:00:00.000Z' });
  expect(
    records('lead-entities')
      .map(({ name }) => name)
      .sort(),
  ).toEqual(['Fire Department', 'Public Works']);
  // The same words are the same supplier, whatever their case and spacing.
  expect(records('suppliers')).toHaveLength(2);
  expect(
    records('city-services')
      .map(({ name }) => name)
      .sort(),
  ).toEqual(['Fire', 'Paving']);
});

test('rows in any order give the same bytes', async () => {
  const [header = '', ...rows] = CONTRACTS.trimEnd().split('\r\n');
  const reversed = [header, ...rows.reverse()].join('\r\n');
  const { files } = await convertedCsv(CONTRACTS_MAP, { 'contracts.csv': CONTRACTS });
  expect((await convertedCsv(CONTRACTS_MAP, { 'contracts.csv': reversed })).files).toEqual(files);
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

  test('Windows-1252, which would make names equal, is refused with what to do', async () => {
    const content = Buffer.from(text, 'latin1');
    const message = 'coops.csv cannot be read: it is not UTF-8; save it as "CSV UTF-8"';
    await expect(convertedCsv(coops, { 'coops.csv': content })).rejects.toThrow(message);
    await expect(sketchMap(filesOf({ 'coops.csv': content })[0] ?? '', FIELDS)).rejects.toThrow(message);
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
    const { records } = await convertedCsv(map, content('920-45; 962 58; 92045;005'));
    const codes = ['92045', '96258', '005'].map((code) => ({ code, description: '' }));
    expect(records('solicitations')).toMatchObject([{ nigp_codes: codes }]);
    expect((await convertedCsv(map, content('920-4'))).refusals).toEqual([
      'bids.csv: row 2: nigp_codes: column "Codes": "920-4" is not an NIGP code of 3, 5, 7 or 11 digits; hyphens and spaces between them are left out',
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

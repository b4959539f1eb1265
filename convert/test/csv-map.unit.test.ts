import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseMap } from '../src/csv/map-file.ts';
import { CHOOSE_COLUMN, sketchMap } from '../src/csv/sketch-map.ts';
import { FIELDS, filesOf, temporaryFolder } from './convert.ts';

/** A map of contracts whose lead entity is mapped like this. */
const contractsOf = (leadEntity: object | string, others: object = {}): object => ({
  kinds: { contracts: { file: 'c.csv', fields: { id: 'Id', name: 'Name', lead_entity_id: leadEntity, ...others } } },
});

describe('a map with', () => {
  const fields = { id: 'Id', name: 'Name' };
  test.each([
    ['no JSON', '{', /^m is not JSON: /],
    ['a wrong zone', { time_zone: 'Mars', kinds: {} }, /time_zone "Mars" is not a time zone/],
    ...['local', 'system', 'default'].map((zone): [string, object, RegExp] => [
      `the zone ${zone}, which differs by machine,`,
      { time_zone: zone, kinds: {} },
      new RegExp(`time_zone "${zone}" is not a time zone`),
    ]),
    ['no file', { kinds: {} }, /kinds names no file/],
    [
      'an unknown kind',
      { kinds: { bids: { file: 'a', fields } } },
      /kinds: unknown "bids"; accepted are lead-entities, coops/,
    ],
    [
      'an unknown field',
      { kinds: { coops: { file: 'a', fields: { ...fields, color: 'C' } } } },
      /fields: unknown "color"; accepted are id, name/,
    ],
    ['a missing field', { kinds: { coops: { file: 'a', fields: { id: 'Id' } } } }, /fields.name is missing/],
    [
      'a list without a separator',
      { kinds: { suppliers: { file: 'a', fields: { ...fields, states_served: 'S' } } } },
      /separator is missing/,
    ],
    [
      'an unknown option',
      { kinds: { coops: { file: 'a', fields: { id: { column: 'Id', trim: true }, name: 'N' } } } },
      /unknown "trim"/,
    ],
    [
      'creates with values',
      contractsOf({ column: 'L', values: { Works: 'le_w' }, creates: 'lead-entities' }),
      /lead_entity_id.creates makes records from the text of columns: leave out creates or values/,
    ],
    [
      'creates with a constant',
      contractsOf({ constant: 'le_w', creates: 'lead-entities' }),
      /lead_entity_id.creates has no effect on constant, which can have nothing else/,
    ],
    [
      'fields without creates',
      contractsOf({ column: 'L', fields: { name: 'N' } }),
      /lead_entity_id.fields describes the record that creates makes: creates is missing/,
    ],
    [
      'a created id',
      contractsOf({ column: 'L', creates: 'lead-entities', fields: { id: 'N' } }),
      /lead_entity_id.fields: unknown "id"; accepted are name/,
    ],
    [
      'fields with a separator',
      contractsOf('L', {
        supplier_ids: { column: 'S', separator: ';', creates: 'suppliers', fields: { email: 'E' } },
      }),
      /has fields and separator; fields needs one row for each entry/,
    ],
    [
      'a separator of several columns',
      contractsOf('L', { supplier_ids: { id_from: ['S', 'City'], prefix: 'sup_', separator: ';' } }),
      /supplier_ids has a separator and several columns; give one column, or the separator ""/,
    ],
    [
      'values beside a format',
      contractsOf('L', { updated_at: { column: 'U', format: 'M/d/yyyy', values: { TBD: null } } }),
      /updated_at has values and format; list the words that mean "no date" as none/,
    ],
    ['a format of a text', contractsOf({ column: 'L', format: 'M/d/yyyy' }), /format is for dates only/],
    ['a separator of a text', contractsOf({ column: 'L', separator: ';' }), /separator is for lists only/],
    ['a prefix of a column', contractsOf({ column: 'L', prefix: 'le_' }), /prefix has no effect on column, which can/],
    ['a text without a column', contractsOf({ text: 'City' }), /text names no column; write columns in braces/],
    ['a number as none', { none: [0], kinds: {} }, /none must be a string or a list of strings/],
    [
      'an unknown rule for rows',
      { kinds: { coops: { file: 'a', fields, rows: { skip: {} } } } },
      /coops.rows: unknown "skip"; accepted are header_line, skip_if, until/,
    ],
    [
      'a text as the header line',
      { kinds: { coops: { file: 'a', fields, rows: { header_line: '4' } } } },
      /rows.header_line must be the number of a row in a spreadsheet/,
    ],
    ['a description of a text', contractsOf({ column: 'L', description: 'D' }), /description is for NIGP codes only/],
    [
      'two sources',
      { kinds: { coops: { file: 'a', fields: { id: { column: 'Id', constant: 1 }, name: 'N' } } } },
      /must have one of/,
    ],
  ])('%s is refused', (_, map, message) => {
    expect(() => parseMap(typeof map === 'string' ? map : JSON.stringify(map), 'm', FIELDS)).toThrow(message);
  });

  test('a sketch names what it recognised, and what must be chosen', async () => {
    const path = join(temporaryFolder(), 'bids.csv');
    writeFileSync(
      path,
      '\uFEFFBid Number,Bid Title,Bid Status,Due Date,Department,Fax\n7,Salt,Open,3/1/2026 2:30 PM,Works,1\n',
    );
    const { map: sketch } = await sketchMap([path], FIELDS);
    expect(sketch).toMatchObject({
      kinds: {
        solicitations: {
          file: 'bids.csv',
          fields: {
            id: { id_from: ['Bid Number'], prefix: 'sol_' },
            title: 'Bid Title',
            status: { column: 'Bid Status', values: { Open: 'open' } },
            close_at: { column: 'Due Date', format: 'M/d/yyyy h:mm a' },
            lead_entity_id: { id_from: ['Department'], prefix: 'le_', creates: 'lead-entities' },
            created_at: CHOOSE_COLUMN,
          },
          ignore: ['Fax'],
        },
      },
    });
    const filledIn = JSON.stringify(sketch)
      .replace('(choose a time zone, such as America/Chicago)', 'America/Chicago')
      .replace(CHOOSE_COLUMN, 'Due Date')
      .replace('"(choose true or false)"', 'false');
    expect(parseMap(filledIn, 'sketch', FIELDS).files).toHaveLength(1);
  });

  test('a sketch marks every value that it could not place, and a map with marks is refused', async () => {
    const rows = Array.from({ length: 300 }, (_, index) => `${index},Salt,open,3/1/2026,Works`);
    const [path = ''] = filesOf({
      'bids.csv': [
        'Bid Number,Title,Status,Due Date,Department',
        ...[...rows, '300,Salt,Advertised,TBD,Works', '301,Salt,CLOSED,soon,Works'],
      ].join('\n'),
    });
    const { map: sketch } = await sketchMap([path], FIELDS);
    const mark = '(choose one of draft, open, closed, awarded, cancelled)';
    expect(sketch).toMatchObject({
      time_zone: '(choose a time zone, such as America/Chicago)',
      none: ['TBD'],
      kinds: {
        solicitations: {
          fields: {
            status: { column: 'Status', values: { Advertised: mark, CLOSED: 'closed', open: 'open' } },
            close_at: { column: 'Due Date', format: ['M/d/yyyy', '(choose a format for soon)'] },
            require_intent_registration: { constant: '(choose true or false)' },
            created_at: CHOOSE_COLUMN,
          },
        },
      },
    });
    const keys = '"time_zone", "Advertised", "constant", "format", "created_at"';
    expect(() => parseMap(JSON.stringify(sketch, null, 2), 'm', FIELDS)).toThrow(
      `m: fill in what is marked (choose …) for ${keys.split(', ').sort().join(', ')}`,
    );
  });

  test.each([';', '\t', '|'])('a sketch finds the delimiter %j', async (delimiter) => {
    const content = '"Contract, Title"_Contract Number_Agency\nSalt_C-1_Works, Streets\n';
    const [path = ''] = filesOf({ 'c.csv': content.replaceAll('_', delimiter) });
    expect((await sketchMap([path], FIELDS)).map).toMatchObject({
      kinds: {
        contracts: { delimiter, fields: { id: { id_from: ['Contract Number'] }, name: 'Contract, Title' }, ignore: [] },
      },
    });
  });

  test('a sketch takes no number as the name of a supplier, and no postal code as a date', async () => {
    const [contracts = '', bids = ''] = filesOf({
      'contracts.csv': 'Contract Number,Vendor Number,Vendor Name,Expires\nC-1,7,Acme,\n',
      'bids.csv': 'Bid Number,Postal Code,Post Code,Date Posted,Due Date\n1,61602,61602,,\n',
    });
    expect((await sketchMap([contracts], FIELDS)).map).toMatchObject({
      kinds: { contracts: { fields: { supplier_ids: { id_from: ['Vendor Name'] } } } },
    });
    expect((await sketchMap([bids], FIELDS)).map).toMatchObject({
      kinds: { solicitations: { fields: { open_at: 'Date Posted' }, ignore: ['Postal Code', 'Post Code'] } },
    });
  });

  test('a sketch looks up the states of suppliers that are no codes', async () => {
    const [path = ''] = filesOf({ 'v.csv': 'Vendor No,Company Name,States\n1,Acme,IL;Ohio\n2,Bolt,il\n' });
    expect((await sketchMap([path], FIELDS)).map).toMatchObject({
      kinds: {
        suppliers: {
          fields: {
            states_served: {
              ...{ column: 'States', separator: ';' },
              values: { IL: 'IL', il: 'IL', Ohio: expect.stringMatching(/^\(choose one of A.*, …\)$/) as string },
            },
          },
        },
      },
    });
  });

  test.each([
    ['Vendor Number,Vendor Name,Contract Number,Title,Agency', 'Contract Number', undefined],
    ['Parent Contract No,contract_number,Title,Expires', 'contract_number', undefined],
    ['Vendor Number,Vendor Name,Contract Title,Expires', CHOOSE_COLUMN, undefined],
    ['Phone Number,Bid Number,Bid Title,Due Date', 'Bid Number', 'Due Date'],
    ['Account Number,Bid Contact Phone Number,ID,Bid Title,Vendor', 'ID', undefined],
    ['Account Number,Bid Title,Vendor,End Date', CHOOSE_COLUMN, 'End Date'],
  ])('of %s, a sketch takes %s as id, never the number of something else', async (header, id, closeAt) => {
    const [path = ''] = filesOf({ 'table.csv': `${header}\n${header.replaceAll(/[^,]+/g, 'x')}\n` });
    const { map } = await sketchMap([path], FIELDS);
    const { kinds } = map as { kinds: Record<string, { fields: Record<string, unknown> }> };
    const { fields } = kinds['solicitations'] ?? kinds['contracts'] ?? { fields: {} };
    expect(fields).toMatchObject({ id: { id_from: [id] } });
    if (kinds['solicitations'] === undefined) return;
    expect(fields).toMatchObject({ ref: { number_from: [id] } });
    expect((fields['close_at'] as { column: string } | undefined)?.column).toBe(closeAt);
  });

  test('a sketch finds formats, words for none, and the columns of suppliers', async () => {
    const [path = ''] = filesOf({
      'contracts.csv': [
        'Contract Number,Title,Agency,Vendor Name,Vendor City,Vendor State,Vendor Email,Updated',
        'C-1,Salt,Works,Acme,Peoria,IL,N/A,1/5/2026',
        'C-1,Salt,Works,Bolt,Elgin,IL,b@bolt.example,"Jan 6, 2026"',
        'C-2,Fire,Works,Bolt,Elgin,IL,b@bolt.example,TBD',
      ].join('\n'),
    });
    const { map: sketch } = await sketchMap([path], FIELDS);
    expect(sketch).toMatchObject({
      none: ['N/A', 'TBD'],
      kinds: {
        contracts: {
          fields: {
            supplier_ids: {
              id_from: ['Vendor Name'],
              creates: 'suppliers',
              fields: { location: { text: '{Vendor City}, {Vendor State}' }, email: 'Vendor Email' },
            },
            updated_at: { column: 'Updated', format: ['M/d/yyyy', 'MMM d, yyyy'] },
          },
          ignore: [],
        },
      },
    });
    const filledIn = JSON.stringify(sketch).replace('(choose a time zone, such as America/Chicago)', 'UTC');
    expect(parseMap(filledIn, 'sketch', FIELDS).files).toHaveLength(1);
  });

  test('a sketch of several exports finds encodings, delimiters, column names, subtotals and ends, and says so', async () => {
    const contracts = [
      ['Active contracts'],
      ['As of:', '11/23/2026', '', 'By:', 'jdoe'],
      [],
      ['Contract No', 'Title', 'Department', 'Vendor Name', 'Expires', ''],
      ...[7, 8, 9].map((number) => [`C-${number}`, `Caf\u00e9 ${number}`, 'Works', 'Pe\u00f1a, Sons', '1/5/2027', '']),
      ['Subtotal: 3', '', '', '', '', ''],
      ['Contract No', 'Title', 'Department', 'Vendor Name', 'Expires', ''],
      ['C-10', 'Salt', 'Fire', 'Acme', '', ''],
      ['Total: 4 rows', '', '', '', '', ''],
      ['Prepared for the board'],
    ];
    const bids =
      'Bid Number,Bid Title,Department,Open Date,NIGP Code,NIGP Description\n1,Salt,Works,3/1/2026,05-20,Abrasives\n';
    const more = ['Bid Number,Bid Title,Department,Closing', '2,"Sa\nlt",Works,3/1/2026', 'Total bids: 1'].join('\n');
    const paths = filesOf({
      'contracts.csv': Buffer.from(contracts.map((cells) => cells.join(';')).join('\r\n'), 'latin1'),
      ...{ 'bids.csv': bids, 'more.csv': more },
    });
    const { map, remarks } = await sketchMap(paths, FIELDS);
    expect(map).toMatchObject({
      kinds: {
        contracts: {
          ...{ file: 'contracts.csv', encoding: 'windows-1252', delimiter: ';' },
          rows: {
            skip_if: { 'Contract No': ['Subtotal: *'] },
            until: { 'Contract No': 'Total: * rows' },
          },
        },
        solicitations: [
          {
            fields: {
              created_at: { column: 'Open Date', format: 'M/d/yyyy' },
              nigp_codes: { column: 'NIGP Code', separator: ';', description: 'NIGP Description' },
            },
          },
          { file: 'more.csv', rows: { until: { 'Bid Number': 'Total bids: *' } } },
        ],
      },
    });
    expect(remarks).toEqual([
      'contracts.csv: The column names are in row 4; what is above is left out.',
      'contracts.csv: Check the letters, which are read as windows-1252: "Caf\u00e9 7", "Caf\u00e9 8", "Caf\u00e9 9".',
    ]);
    const filledIn = JSON.stringify(map)
      .replace('(choose a time zone, such as America/Chicago)', 'UTC')
      .replaceAll('"(choose true or false)"', 'false')
      .replaceAll(CHOOSE_COLUMN, 'Closing')
      .replace(/"\(choose one of [^"]*"/, '"open"');
    expect(() => parseMap(filledIn, 'sketch', FIELDS)).not.toThrow();
  });

  test('a sketch takes a subtotal that is like the last line for no end', async () => {
    const rows = ['Contract No,Title,Agency', 'C-1,Salt,Works', 'Total,,', 'C-2,Sand,Fire', 'Total,,'];
    expect((await sketchMap(filesOf({ 'c.csv': rows.join('\n') }), FIELDS)).map).toMatchObject({
      kinds: { contracts: { rows: { skip_if: { 'Contract No': ['Total'] } } } },
    });
  });

  test('a sketch refuses columns that are named twice', async () => {
    const [path = ''] = filesOf({ 'c.csv': 'Contract No,Title,Phone,Phone,,\nC-1,Salt,1,2,,\n' });
    await expect(sketchMap([path], FIELDS)).rejects.toThrow(`${path} has the column "Phone" twice`);
  });
});

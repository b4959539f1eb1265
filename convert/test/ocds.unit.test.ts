import fc from 'fast-check';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { convertedOcds, filesOf } from './convert.ts';

const BUYER = { id: 'b', name: 'City of Elm', roles: ['buyer'], identifier: { scheme: 'XX-GOV', id: '7' } };

/** A release with a tender. */
function release(ocid: string, fields: object = {}, tender: object = {}): Record<string, unknown> {
  return {
    ...{ ocid, id: `${ocid}-1`, date: '2019-03-01T00:00:00Z', tag: ['tender'], parties: [BUYER], buyer: { id: 'b' } },
    tender: { id: 'T-1', title: 'Road salt', status: 'active', ...tender },
    ...fields,
  };
}

describe('forms of input', () => {
  const one = release('ocds-x-1');
  const two = release('ocds-x-2');
  const record = { ocid: 'ocds-x-2', releases: [two] };

  test.each([
    ['a release package', { releases: [one, two], publisher: { name: 'P' } }],
    ['a record package', { records: [{ ocid: 'ocds-x-1', releases: [one] }, record] }],
    ['a list of releases and records', [one, record]],
    ['a list of packages', [{ releases: [one] }, { releases: [two] }]],
    ['JSON lines', `${JSON.stringify(one)}\n${JSON.stringify(two)}\n`],
    ['concatenated documents', `${JSON.stringify({ releases: [one] })}${JSON.stringify(record)}`],
    ['gzip', gzipSync(JSON.stringify({ releases: [one, two] }))],
    ['a byte order mark', `\uFEFF${JSON.stringify({ releases: [one, two] })}`],
  ])('%s gives the same records', async (_, input) => {
    const content = typeof input === 'string' || Buffer.isBuffer(input) ? input : JSON.stringify(input);
    const { records, refusals } = await convertedOcds(filesOf({ 'input.json': content }));
    expect(refusals).toEqual([]);
    expect(records('solicitations').map(({ id }) => id)).toEqual(['sol_ocds-x-1', 'sol_ocds-x-2']);
  });

  test.each([
    ['{"releases": [', /ends in the middle of a JSON document$/],
    ['', /^input.json: contains no OCDS release or record$/],
    ['{"releases":[]}', /^input.json: contains no OCDS release or record$/],
    ['hello', /^input.json: .*$/],
    ['[1]', /\[0\]: is neither a release, a record nor a package of OCDS$/],
    [Buffer.from([0x22, 0xff, 0x22]), /is not UTF-8$/],
    [
      '{"records":[{"ocid":"ocds-x-9","releases":[{"url":"https://x","date":"2019-01-01T00:00:00Z"}]}]}',
      /\(ocds-x-9\): has only links to its releases, and no compiled release$/,
    ],
    [
      JSON.stringify(release('ocds-x-1', { date: '1/2/2019' })),
      /date: "1\/2\/2019" is not an RFC 3339 timestamp or date$/,
    ],
    [JSON.stringify({ ...release('x'), date: null }), /\(x\): date: is missing$/],
  ])('%s is refused with its place', async (content, message) => {
    const { refusals } = await convertedOcds(filesOf({ 'input.json': content }));
    expect(refusals).toHaveLength(1);
    expect(refusals[0]).toMatch(message);
  });

  test('a compiled release counts more than the releases beside it', async () => {
    const compiled = release('ocds-x-1', { tag: ['compiled'] }, { title: 'Compiled' });
    const { records } = await convertedOcds([
      { records: [{ ocid: 'ocds-x-1', releases: [one], compiledRelease: compiled }] },
    ]);
    expect(records('solicitations')).toMatchObject([{ title: 'Compiled' }]);
  });
});

describe('order', () => {
  const releases = [
    release('ocds-x-1'),
    release(
      'ocds-x-1',
      { id: 'r2', date: '2019-04-01T00:00:00Z' },
      { title: 'Road salt, amended', description: 'Salt' },
    ),
    release('ocds-x-1', { id: 'r3', date: '2019-04-01T01:00:00+02:00' }, { title: 'Road salt, first amendment' }),
    release('ocds-x-2', {}, { status: 'complete' }),
    release('ocds-x-3', { parties: [{ ...BUYER, name: 'CITY OF ELM' }], date: '2019-09-01T00:00:00Z' }),
  ];

  test('releases in any order, in any number of files, give the same bytes', async () => {
    const { files } = await convertedOcds([{ releases }]);
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(releases, { minLength: releases.length }),
        fc.integer({ min: 0, max: releases.length }),
        async (shuffled, cut) => {
          const parts = [shuffled.slice(0, cut), shuffled.slice(cut)].map((part) => ({ releases: part }));
          expect((await convertedOcds(parts)).files).toEqual(files);
        },
      ),
      { numRuns: 15 },
    );
  });

  test('later releases replace earlier ones by time, whatever their offsets; a name is the latest one', async () => {
    const { records } = await convertedOcds([{ releases }]);
    expect(records('solicitations')[0]).toMatchObject({
      title: 'Road salt, amended',
      created_at: '2019-03-01T00:00:00.000Z',
      updated_at: '2019-04-01T00:00:00.000Z',
    });
    expect(records('lead-entities')).toEqual([{ id: 'le_XX-GOV-7', name: 'CITY OF ELM' }]);
  });
});

describe('organizations', () => {
  const contract = (ocid: string, name: string, party: object = {}): Record<string, unknown> =>
    release(ocid, {
      parties: [BUYER, { id: '1', name, roles: ['supplier'], ...party }],
      awards: [{ id: 'a', status: 'active', suppliers: [{ id: '1', name }] }],
      contracts: [{ id: 'c', awardID: 'a', status: 'active', title: `With ${name}` }],
    });

  test('different companies that a publisher gives one id stay different', async () => {
    const { records, names } = await convertedOcds([
      { releases: [contract('x-1', 'Acme'), contract('x-2', 'Bolt'), contract('x-3', 'Core')] },
    ]);
    expect(names('suppliers')).toEqual(['Acme', 'Bolt', 'Core']);
    expect(new Set(records('contracts').map((one) => String(one['supplier_ids']))).size).toBe(3);
  });

  test('two parties of one process that share an id are told apart by name', async () => {
    const shared = contract('x-1', 'Acme');
    const parties = [
      BUYER,
      { id: '1', name: 'Bolt' },
      { id: '1', name: 'Acme', address: { locality: 'Elm', countryName: 'NZ' } },
    ];
    const { records } = await convertedOcds([{ releases: [{ ...shared, parties }] }]);
    expect(records('suppliers')).toMatchObject([{ name: 'Acme', location: 'Elm, NZ' }]);
  });

  test('an identifier without a scheme, and spelling, make no difference; an identifier with a scheme does', async () => {
    const registered = (id: string): object => ({ identifier: { scheme: 'XX-REG', id } });
    const { records } = await convertedOcds([
      {
        releases: [
          contract('x-1', 'Acme  Ltd', { identifier: { id: '1' } }),
          contract('x-2', 'ACME LTD', { identifier: { scheme: ' ', id: '9' } }),
          contract('x-3', 'Acme Ltd', registered('4')),
          contract('x-4', 'Acme Limited', registered('4')),
        ],
      },
    ]);
    expect(records('suppliers')).toHaveLength(2);
    expect(records('contracts').map((one) => (one['supplier_ids'] as string[])[0] === 'sup_XX-REG-4')).toEqual([
      ...[false, false, true, true],
    ]);
  });

  test('contact persons are left out', async () => {
    const contactPoint = { email: 'jo@acme.example', url: 'https://acme.example' };
    const { files, records } = await convertedOcds([contract('x-1', 'Acme', { contactPoint })]);
    expect(records('suppliers')).toMatchObject([{ email: null, website: 'https://acme.example' }]);
    expect(files['suppliers']).not.toContain('jo@');
  });

  test('the author of a question is never written', async () => {
    const enquiry = { id: '1', title: 'Depth?', description: 'How deep?', answer: '2 m', author: { name: 'Jo Doe' } };
    const { files, records } = await convertedOcds([release('x-1', {}, { enquiries: [enquiry] })]);
    expect(records('solicitations')[0]?.['questions']).toMatchObject([{ id: 1, title: 'Depth?', answer: '2 m' }]);
    expect(JSON.stringify(files)).not.toContain('Jo Doe');
  });

  test('a process without a procuring entity or buyer is refused: it would be outside every scope', async () => {
    const { refusals } = await convertedOcds([release('x-1', { parties: [], buyer: {} })]);
    expect(refusals).toEqual([
      'input-0.json: (x-1): tender.procuringEntity: is missing, and no single party is the procuring entity or buyer',
    ]);
  });
});

describe('status', () => {
  const award = { awards: [{ id: 'a', status: 'active' }] };
  const ended = { tenderPeriod: { endDate: '2019-02-01T00:00:00Z' } };
  const running = { tenderPeriod: { endDate: '2019-06-01T00:00:00Z' } };

  test.each([
    ['planned', {}, {}, 'draft'],
    ['active', {}, running, 'open'],
    ['active', award, running, 'open'],
    ['active', award, ended, 'awarded'],
    ['active', award, {}, 'awarded'],
    ['active', {}, ended, 'open'],
    ['complete', award, {}, 'awarded'],
    ['complete', {}, {}, 'closed'],
    ['unsuccessful', {}, {}, 'closed'],
    ['cancelled', {}, {}, 'cancelled'],
    [undefined, { tag: ['planning'] }, {}, 'draft'],
    [undefined, { tag: ['tender'] }, {}, 'open'],
    [undefined, { tag: ['tenderCancellation'] }, {}, 'cancelled'],
    [undefined, { tag: ['award'] }, {}, 'awarded'],
  ])('%s, %j, %j is %s', async (status, fields, tender, expected) => {
    const { records } = await convertedOcds([release('x-1', fields, { status, ...tender })]);
    expect(records('solicitations')).toMatchObject([{ status: expected }]);
  });

  test('a withdrawn process becomes a removal', async () => {
    const { records } = await convertedOcds([release('x-1', {}, { status: 'withdrawn' })]);
    expect(records('solicitations')).toEqual([{ id: 'sol_x-1', deleted: true }]);
  });

  test('a status that OCDS does not have is refused, unless the map names it', async () => {
    const input = [release('x-1', {}, { status: 'Primirea ofertelor' })];
    const { refusals } = await convertedOcds(input);
    expect(refusals[0]).toContain('tender.status: "Primirea ofertelor" is not one of planning, planned, active');
    expect(refusals[0]).toContain('pass --map FILE, with {"status":{"Primirea ofertelor":"open"}} in the file');
    const mapped = await convertedOcds(input, { statuses: { 'Primirea ofertelor': 'open' } });
    expect(mapped.records('solicitations')).toMatchObject([{ status: 'open' }]);
  });
});

describe('contracts', () => {
  const period = (endDate: string): object => ({ startDate: '2018-01-01T00:00:00Z', endDate });
  const signed = (fields: object): object => release('x-1', { contracts: [{ id: 'c', title: 'C', ...fields }] });

  test.each([
    [{ status: 'active' }, { current: 1, signed: 1, none: 0 }],
    [
      { status: 'active', period: period('2019-12-31T00:00:00Z') },
      { current: 0, signed: 1, none: 0 },
    ],
    [
      { status: 'active', period: period('2020-01-01T00:00:00Z') },
      { current: 1, signed: 1, none: 0 },
    ],
    [{ status: 'terminated' }, { current: 0, signed: 1, none: 0 }],
    [{ status: 'pending' }, { current: 0, signed: 0, none: 0 }],
    [{ status: 'cancelled' }, { current: 0, signed: 0, none: 0 }],
  ])('%j: %j', async (contract, expected) => {
    for (const [mode, count] of Object.entries(expected)) {
      const { records } = await convertedOcds([signed(contract)], { contracts: mode as 'current' });
      expect(records('contracts')).toHaveLength(count);
    }
  });

  test('an award alone counts only if asked for, or for a framework agreement', async () => {
    const awarded = release('x-1', {
      awards: [
        { id: 'a', status: 'active', title: 'A' },
        { id: 'b', status: 'cancelled' },
      ],
    });
    expect((await convertedOcds([awarded])).records('contracts')).toEqual([]);
    expect((await convertedOcds([awarded], { contracts: 'awards' })).records('contracts')).toHaveLength(1);
    const framework = {
      ...awarded,
      tender: { title: 'F', status: 'complete', techniques: { hasFrameworkAgreement: true } },
    };
    expect((await convertedOcds([framework])).records('contracts')).toMatchObject([{ id: 'ctr_x-1_a', name: 'A' }]);
  });

  test('services come from the nearest classifications; CPV by division; the map of the operator first', async () => {
    const item = (scheme: string, id: string, description = ''): object => ({
      classification: { scheme, id, description },
    });
    const contract = {
      contracts: [
        {
          id: 'c',
          title: 'C',
          items: [item('CPV', '34330000-9'), item('CPV', '34100000-8'), item('NIGP', '4512', 'Salt')],
        },
      ],
    };
    const input = [release('x-1', contract, { items: [item('CPV', '45000000-7')] })];
    expect((await convertedOcds(input)).records('city-services')).toEqual([
      { id: 'cs_cpv_34', name: 'Transport equipment and auxiliary products to transportation' },
      { id: 'cs_nigp_045', name: 'Salt' },
    ]);
    const services = [{ scheme: 'CPV', prefix: '34', id: 'cs_fleet', name: 'Fleet' }];
    const own = await convertedOcds(input, { services });
    expect(own.records('contracts')).toMatchObject([{ city_service_ids: ['cs_fleet', 'cs_nigp_045'] }]);
  });
});

test('what the format has no place for is counted', async () => {
  const { report } = await convertedOcds([
    release(
      'x-1',
      {},
      {
        value: { amount: 5, currency: 'USD' },
        lots: [{ id: '1' }, { id: '2' }],
        documents: [{ id: '1', url: 'https://x.example/a.pdf' }],
      },
    ),
  ]);
  expect(report['dropped']).toEqual({ amounts: 1, 'document URLs': 1, lots: 2 });
});

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createTestDatabase } from '../../test/support/database.ts';
import { publishDirectory } from '../../test/support/publishing.ts';
import { convertedOcds, type Converted } from './convert.ts';

/** Real records next to the repository; not part of it. */
const pathOf = (name: string): string => fileURLToPath(new URL(`../../../shared/data/ocds/${name}`, import.meta.url));

/** Read from the source by hand: ocid, reference number, title, lead entity, deadline, documents. All are open. */
const SCOTLAND: [string, string, string, string, string, number][] = [
  [
    'ocds-r6ebe6-0000530300',
    '0719',
    'Security Services and Cash Collection 0719',
    'Scotland Excel',
    '2019-05-28T12:00:00.000Z',
    1,
  ],
  [
    'ocds-r6ebe6-0000567519',
    'GCC004570SW',
    'Glasgow Residential Recovery Services',
    'Glasgow City Council',
    '2019-06-11T12:00:00.000Z',
    3,
  ],
  [
    'ocds-r6ebe6-0000570588',
    '01-19',
    'Supply & Delivery of Alcoholic & Associated Beverages',
    'Scotland Excel',
    '2019-05-08T12:00:00.000Z',
    1,
  ],
  [
    'ocds-r6ebe6-0000574515',
    '18-CE-078-OJ',
    'Circular Economy Cities & Regions – Business Engagement Partners',
    'Zero Waste Scotland Ltd',
    '2019-05-01T10:00:00.000Z',
    8,
  ],
  [
    'ocds-r6ebe6-0000575122',
    'SP-19-001',
    'Server and Infrastructure Maintenance',
    'Scottish Government',
    '2019-05-30T14:00:00.000Z',
    1,
  ],
  [
    'ocds-r6ebe6-0000577987',
    'ACT CANN 007',
    'Rhododendron Removal and Eradication, Eilean na Muice Duibhe SSSI, SAC, SPA',
    'Argyll and the Isles Coast and Countryside Trust (ACT)',
    '2019-05-30T12:00:00.000Z',
    10,
  ],
  [
    'ocds-r6ebe6-0000578813',
    'ocds-r6ebe6-0000578813',
    'RoS FM Hard Services 2019',
    'Registers of Scotland',
    '2019-05-01T10:00:00.000Z',
    15,
  ],
  [
    'ocds-r6ebe6-0000578961',
    'ocds-r6ebe6-0000578961',
    'Insurance and Related Services 2019 - 2024',
    'Key Housing Association',
    '2019-04-29T12:00:00.000Z',
    8,
  ],
  [
    'ocds-r6ebe6-0000579249',
    'CHS/195/19',
    'Supply, Installation and Maintenance of Controlled Door Entry Systems',
    'Falkirk Council',
    '2019-05-07T11:00:00.000Z',
    2,
  ],
  [
    'ocds-r6ebe6-0000579460',
    'HES/C/4013',
    '‘Enchanted Castle’ Event Production Partner',
    'Historic Environment Scotland',
    '2019-05-02T12:00:00.000Z',
    13,
  ],
  [
    'ocds-r6ebe6-0000579558',
    'ETS/03/19/ CHA',
    'Gas Servicing and Reactive maintenance contract',
    'Energy Technical Services',
    '2019-05-24T12:00:00.000Z',
    8,
  ],
  [
    'ocds-r6ebe6-0000579639',
    'CASE/382881',
    'Inshore Patrol Vessel Charter for Marine Scotland',
    'Scottish Government',
    '2019-05-03T12:00:00.000Z',
    4,
  ],
  [
    'ocds-r6ebe6-0000579829',
    'DIHD18001',
    'DIHD18001 - Housing Development Blarmor, Fort William',
    'The Highland Council',
    '2019-05-10T12:00:00.000Z',
    7,
  ],
  [
    'ocds-r6ebe6-0000579933',
    'PURCH1676',
    'PURCH1676 Provision Of Framework Agreement For An Online Enrolment And Course Management System',
    'University of Glasgow',
    '2019-05-31T12:00:00.000Z',
    7,
  ],
  [
    'ocds-r6ebe6-0000580267',
    'CT2677',
    'Forestry and Arboriculture Services Framework Agreement',
    'The City of Edinburgh Council',
    '2019-05-24T12:00:00.000Z',
    3,
  ],
  [
    'ocds-r6ebe6-0000580555',
    'CS/CoGC/19/022',
    'The Provision of Public Affairs Services to City of Glasgow College',
    'City of Glasgow College',
    '2019-05-17T12:00:00.000Z',
    1,
  ],
  [
    'ocds-r6ebe6-0000580728',
    'EC0853',
    'EC0853 The University of Edinburgh Confidential Waste',
    'University Of Edinburgh',
    '2019-05-20T12:00:00.000Z',
    1,
  ],
  [
    'ocds-r6ebe6-0000580939',
    'CDD/19/04',
    'Minimum Twice Daily Return Air Service between Dundee Airport and London',
    'Dundee City Council',
    '2019-06-26T10:00:00.000Z',
    6,
  ],
  [
    'ocds-r6ebe6-0000581004',
    'CON/007/19',
    'PQQ CON/007/19 Enhanced Injecting Equipment Service provision in Tayside',
    'NHS Tayside',
    '2019-05-16T12:00:00.000Z',
    1,
  ],
  [
    'ocds-r6ebe6-0000581263',
    'TS/AMFC/SER/2019/01',
    'The Provision of Air Services between Glasgow Airport and Campbeltown, Tiree and Barra',
    'Transport Scotland',
    '2019-06-25T12:00:00.000Z',
    6,
  ],
];

/** Converts a publisher's file; `null`, with a remark, if the real records are not there. */
async function converted(name: string, contracts: 'current' | 'signed'): Promise<Converted | null> {
  if (existsSync(pathOf(name))) return convertedOcds([pathOf(name)], { contracts });
  process.stderr.write(`No real records at ${pathOf(name)}: not converted.\n`);
  return null;
}

test('twenty tenders of Public Contracts Scotland are what the publisher says', async () => {
  const scotland = await converted('uk-scotland-releases.jsonl', 'current');
  if (scotland === null) return;
  expect(scotland.refusals).toEqual([]);
  expect(scotland.records('solicitations')).toHaveLength(90);
  const names = new Map(scotland.records('lead-entities').map(({ id, name }) => [id, name]));
  const found = new Map(scotland.records('solicitations').map((one) => [one['id'], one]));
  for (const [ocid, reference, title, leadEntity, closeAt, documents] of SCOTLAND) {
    const record = found.get(`sol_${ocid}`);
    expect(record).toMatchObject({ reference_number: reference, title, status: 'open', close_at: closeAt });
    expect(names.get(record?.['lead_entity_id'])).toBe(leadEntity);
    expect(record?.['documents']).toHaveLength(documents);
  }
});

test('the process of the City of Portland is what the publisher says', async () => {
  const portland = await converted('us-portland-record.json', 'signed');
  if (portland === null) return;
  expect(portland.refusals).toEqual([]);
  expect(portland.records('contracts')).toEqual([
    {
      id: 'ctr_ocds-ptecst-118001_30004792',
      name: 'SAP HCM P&F SVCS',
      summary: 'Runs 2015-09-23 to 2016-12-31',
      description: 'IMPLEMENTATION OF SAP HCM PROCESSES AND FORMS',
      lead_entity_id: 'le_US_OR-PDX-BS-ABBR-PSSRP',
      coop_id: null,
      supplier_ids: ['sup_US_OR-PDX-SAP-SID-109191'],
      city_service_ids: ['cs_nigp_920', 'cs_nigp_962', 'cs_nigp_961'],
    },
  ]);
  expect(portland.records('suppliers')).toMatchObject([{ name: 'MOURI Tech LLC' }]);
  expect(portland.records('solicitations')).toMatchObject([
    {
      reference_number: '118001',
      title: 'IMPLEMENTATION OF SAP HCM PROCESSES AND FORMS FUNCTIONALITY',
      status: 'awarded',
      open_at: '2015-04-29T07:00:00.000Z',
      close_at: '2015-11-06T08:00:00.000Z',
      nigp_codes: [{ code: '92000' }, { code: '96200' }, { code: '96100' }],
    },
  ]);
});

test('what was converted imports, and imports again without a change', async () => {
  const publishers = await Promise.all([
    converted('uk-scotland-releases.jsonl', 'current'),
    converted('us-portland-record.json', 'signed'),
  ]);
  const made = await createTestDatabase();
  try {
    for (const publisher of publishers) {
      if (publisher === null) continue;
      expect((await publishDirectory(made.database, publisher.directory)).timestamp).not.toBeNull();
      expect((await publishDirectory(made.database, publisher.directory)).timestamp).toBeNull();
    }
  } finally {
    await made.drop();
  }
});

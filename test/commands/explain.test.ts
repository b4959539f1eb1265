import { beforeAll, expect, test } from 'vitest';
import { resumePartner, suspendPartner } from '../../src/access/partner-admin.ts';
import { dayOf } from '../../src/timestamp.ts';
import { databaseForAllTests } from '../support/database.ts';
import { makePartner, type TestPartner } from '../support/partners.ts';
import { contract, publishLines, SMALL_CATALOG, solicitation, supplier } from '../support/publishing.ts';
import { storeUsage } from '../usage/recording.ts';
import { callPds } from './call-pds.ts';

let acme: TestPartner;
let publishedAt: string;
let addedAt: string;
const made = databaseForAllTests();
beforeAll(async () => {
  const catalog = {
    ...SMALL_CATALOG,
    suppliers: [...SMALL_CATALOG.suppliers, supplier('sup_3'), supplier('sup_4')],
    solicitations: [...SMALL_CATALOG.solicitations, { ...solicitation('sol_3', 3), status: 'draft' }],
  };
  publishedAt = String((await publishLines(made.database, catalog)).timestamp);
  acme = await makePartner(made.database, Date.now, { name: 'acme', leadEntities: ['le_a'] });
  await makePartner(made.database, Date.now, { name: 'dune', everything: true });
  // Names a supplier after its owner was granted, and removes a record.
  const later = {
    contracts: [{ ...contract('ctr_3'), coop_id: null, supplier_ids: ['sup_4'] }],
    solicitations: [{ id: 'sol_2', deleted: true }],
  };
  addedAt = String((await publishLines(made.database, later)).timestamp);
});

/** The output of `pds explain acme …`, and its exit code. */
async function explain(record: string, partner = 'acme'): Promise<{ code: number | null; lines: string[] }> {
  const words = ['explain', partner, ...record.split(' ')];
  const { code, stdout, stderr } = await callPds(words, made.settings);
  expect(stderr).toBe('');
  return { code, lines: stdout.trimEnd().split('\n') };
}

const grantedAt = (): string => acme.scope.leadEntities['le_a'] ?? '';

test('names the grant or contract that shows a record, since when, and when it last changed', async () => {
  expect(await explain('contracts ctr_1')).toEqual({
    code: 0,
    lines: [
      'acme sees contracts ctr_1.',
      `by            lead entity le_a, since ${grantedAt()}`,
      `last changed  ${publishedAt}`,
      'last request  none in 400 days',
    ],
  });
  // A solicitation also by its ref.
  expect(await explain('solicitations 1')).toMatchObject({
    code: 0,
    lines: ['acme sees solicitations sol_1.', {}, {}, {}],
  });
  const lineOf = async (record: string, partner?: string) => (await explain(record, partner)).lines[1];
  expect(await lineOf('suppliers sup_1')).toContain(
    `lead entity le_a, whose contract ctr_1 names it, since ${grantedAt()}`,
  );
  expect(await lineOf('suppliers sup_4')).toContain(
    `lead entity le_a, whose contract ctr_3 names it, since ${addedAt}`,
  );
  expect(await lineOf('coops co_x')).toContain(`lead entity le_a, whose contract ctr_1 names it, since ${grantedAt()}`);
  expect(await lineOf('suppliers sup_3', 'dune')).toMatch(/^by +everything, since \S+Z$/);
  expect(await explain('certifications MBE')).toMatchObject({ code: 0 });
});

test('tells why a partner does not see a record, and what would show it', async () => {
  const because = async (record: string) => {
    const { code, lines } = await explain(record);
    expect([code, lines[0]]).toEqual([1, expect.stringMatching(/^acme does not see /)]);
    return lines.filter((line) => line.startsWith('because')).map((line) => line.replace(/^because +/, ''));
  };
  expect(await because('contracts ctr_9')).toEqual(['no such record: import it']);
  expect(await because('solicitations sol_2')).toEqual([`removed by the import of ${addedAt}: import it`]);
  expect(await because('solicitations 3')).toEqual(['a draft, which no partner sees: import it with another status']);
  expect(await because('suppliers sup_3')).toEqual([
    'no contract names it: import a contract that does, of an owner granted to acme',
  ]);
  expect(await because('contracts ctr_2')).toEqual([
    'lead entity le_b is not granted: pds partner grant acme --lead-entity le_b',
  ]);
  expect(await because('suppliers sup_2')).toEqual([
    'lead entity le_b, whose contract ctr_2 names it, is not granted: pds partner grant acme --lead-entity le_b',
  ]);
});

test('tells what a partner is refused altogether, with all commands that end it', async () => {
  const pds = (line: string) => callPds(line.split(' '), made.settings);
  await suspendPartner(made.database, Date.now, 'acme');
  await pds('partner set acme --kinds suppliers,coops');
  const { code, lines } = await explain('contracts ctr_1');
  expect([code, ...lines.slice(0, 4)]).toEqual([
    ...[1, 'acme does not see contracts ctr_1.'],
    `granted       lead entity le_a, since ${grantedAt()}`,
    expect.stringMatching(/^because +suspended since \S+Z: pds partner resume acme$/),
    'because       limited to other kinds: pds partner set acme --kinds contracts,suppliers,coops',
  ]);
  for (const line of lines.filter((each) => each.startsWith('because')))
    expect((await pds(/pds (.*)/.exec(line)?.[1] ?? '')).code).toBe(0);
  expect((await explain('contracts ctr_1')).code).toBe(0);
  await resumePartner(made.database, Date.now, 'acme');
  await pds('partner set acme --kinds all');
});

test('has the last day with a request for the kind, or for the feed', async () => {
  const today = dayOf(Date.now());
  for (const [endpoint, day] of [
    ['/v1/solicitations/:id', '2026-04-01'],
    ['/v1/changes', '2026-04-03'],
    ['/v1/coops', '2026-04-02'],
    ['/v1/key', today],
    ['/v1/solicitations/count', today],
  ] as const)
    await storeUsage(made.database, { key_id: acme.key.slice(9, 17), endpoint, day });
  const dayOfRequest = async (record: string) => (await explain(record)).lines.at(-1);
  expect(await dayOfRequest('solicitations sol_1')).toBe('last request  2026-04-03');
  expect(await dayOfRequest('coops co_x')).toBe('last request  2026-04-02');
});

test('has all of it as JSON, and exits with 2 if the answer is unknown', async () => {
  const settings = made.settings;
  const { code, stdout } = await callPds(['explain', 'acme', 'suppliers', 'sup_4', '--json'], settings);
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    {
      ...{ partner: 'acme', kind: 'suppliers', id: 'sup_4', sees: true, because: [], changed_at: publishedAt },
      by: [{ grant: 'lead_entity', id: 'le_a', contract: 'ctr_3', since: addedAt }],
      last_request: '2026-04-03',
    },
  ]);
  expect(await callPds(['explain', 'nobody', 'suppliers', 'sup_4'], settings)).toMatchObject({ code: 2, stdout: '' });
});

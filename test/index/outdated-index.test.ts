import { expect, inject, test } from 'vitest';
import { lacksTerms } from '../../src/index/lacks-terms.ts';
import { recover, reindex } from '../../src/recovery/recover.ts';
import { callPds } from '../commands/call-pds.ts';
import { BLOCKS, CATALOG, execute, faultsOf } from '../recovery/indexed-catalog.ts';
import { publishLines, solicitation } from '../support/publishing.ts';
import { serviceForEachTest } from '../support/service.ts';
import { startServing } from '../support/serving-process.ts';

/*
 * Version 2.0 knows no terms of NIGP codes. Its imports leave blocks with other tokens, in which these terms are
 * missing for new records, and wrong for others.
 */

const NEEDS_TERMS = [
  '/v1/solicitations?nigp=913',
  '/v1/solicitations?nigp=913&format=ndjson',
  '/v1/solicitations?q=bridge&nigp=005,91300',
  '/v1/solicitations?is_open=true',
  '/v1/solicitations/count?nigp=913',
];

const NEEDS_NONE = [
  '/v1/solicitations?is_open=false',
  '/v1/solicitations?status=open,closed&lead_entity=le_a,le_b',
  '/v1/solicitations/count?q=bridge',
  '/v1/suppliers?state=PA,OH',
];

const logged: string[] = [];
const service = serviceForEachTest({
  catalog: CATALOG,
  ...BLOCKS,
  partners: [{ name: 'all', everything: true }],
  onLog: (line) => logged.push(line),
});

const get = (url: string) => service.get(url, { key: service.partner('all').key });

/** The ids in each response, or the number. */
async function responses(): Promise<unknown[]> {
  await service.noticeChanges();
  const bodies: string[] = [];
  for (const url of [...NEEDS_TERMS, ...NEEDS_NONE]) bodies.push((await get(url)).body);
  return bodies.map((body) => body.match(/"(id":"s\w+|total":\d+)"?/g));
}

/** Does to one block of solicitations what an import of version 2.0 does, and makes servers notice it. */
async function changeAsBefore(): Promise<void> {
  await execute(
    service.database,
    `update catalog.index_blocks set token = 'of 2.0' where kind = 'solicitations' and block = 1`,
    `delete from catalog.solicitations_index where block = 1 and (term like '@nigp=%' or term = '@no_deadline')`,
  );
  await recover(service.database, { clock: Date.now });
  await service.noticeChanges();
}

test('an index that version 2.0 changed fails what needs its missing terms, until an import has built them', async () => {
  const before = await responses();
  await changeAsBefore();
  for (const url of NEEDS_TERMS) {
    const { status, body } = await get(url);
    expect([status, body], url).toEqual([500, expect.stringContaining('internal_error')]);
  }
  for (const url of NEEDS_NONE) expect((await get(url)).status, url).toBe(200);
  expect(logged.join('')).toMatch(/the index of solicitations lacks terms, since an older version .*pds reindex/);
  // Of another block, so that it builds the outdated one for this reason alone.
  const [first] = CATALOG.solicitations.filter(({ status }) => status !== 'draft');
  await publishLines(service.database, { solicitations: [{ ...first, issuing_organization: 'Changed' }] }, BLOCKS);
  expect(await lacksTerms(service.database)).toBe(false);
  expect(await faultsOf(service.database)).toEqual([]);
  expect(await responses()).toEqual(before);
});

test('pds check reports it, and pds migrate builds their terms once', async () => {
  const before = await responses();
  await changeAsBefore();
  const { code, stdout } = await callPds(['check'], service.settings);
  expect([code, stdout]).toEqual([
    1,
    expect.stringMatching(/FAIL {2}index: it lacks terms, since an older version changed it last\n.*Run "pds reindex"/),
  ]);
  const migrated = await callPds(['migrate', '--json'], service.settings);
  expect(JSON.parse(migrated.stdout)).toMatchObject({ migrations: ['index: terms of NIGP codes'] });
  expect(JSON.parse((await callPds(['migrate', '--json'], service.settings)).stdout)).toMatchObject({ migrations: [] });
  expect(await responses()).toEqual(before);
});

test('pds reindex builds them too', async () => {
  const before = await responses();
  await changeAsBefore();
  await reindex(service.database, { clock: Date.now });
  expect(await responses()).toEqual(before);
});

test('a service builds them at its start on SQLite, and logs how on PostgreSQL', async () => {
  await changeAsBefore();
  await using serving = startServing(service.databaseConfig, { PDS_PORT: '0' });
  await serving.port();
  const isSqlite = inject('engine') === 'sqlite';
  expect(serving.output()).toContain(isSqlite ? 'adding terms to the index' : 'until \\"pds reindex\\" has run');
  expect(await lacksTerms(service.database)).toBe(!isSqlite);
});

test('blocks that an import adds and splits have all terms', async () => {
  const many = Array.from({ length: 60 }, (_, index) => solicitation(`sol_20_${index + 10}`, index + 500));
  await publishLines(service.database, { solicitations: many }, BLOCKS);
  expect(await lacksTerms(service.database)).toBe(false);
  expect(await faultsOf(service.database)).toEqual([]);
});

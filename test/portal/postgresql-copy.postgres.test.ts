import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { startCountingServer } from '../../client/test/support/faulty-server.ts';
import { startProgram, type MirrorEnd } from '../../client/test/mirror/support/mirror-process.ts';
import { setPartner } from '../../src/access/partner-admin.ts';
import { databaseUrlOf } from '../commands/run-pds.ts';
import { createEmptyDatabase } from '../support/database.ts';
import { findInstalled, testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { newFolder } from '../support/new-folder.ts';
import { contract, publishLines, solicitation, SMALL_CATALOG } from '../support/publishing.ts';
import { serviceForAllTests } from '../support/service.ts';
import { CuttingServer, type Fault } from './cutting-server.ts';
import { listExamples } from './examples.ts';
import { readText } from './site.ts';

const [CREATE = '', FOLLOW = ''] = listExamples(readText('docs/partner-guide/postgresql.md')).map(({ code }) => code);

/** The tables and views of the copy, and the lists that they have. */
const LISTS = {
  contracts: 'contracts',
  suppliers: 'suppliers',
  solicitations: 'solicitations',
  certifications: 'certifications',
  lead_entities: 'lead-entities',
  coops: 'coops',
  city_services: 'city-services',
} as const;

type Json = Readonly<Record<string, unknown>>;

let copy: pg.Client;
const folder = newFolder();
let environment: Record<string, string>;

const contracts = Array.from({ length: 40 }, (_, index) => ({
  ...contract(`ctr_${index}`),
  name: 'Tab\t, "quoted" \\ & /slashes/ \u2028',
}));
const catalog = { ...SMALL_CATALOG, contracts, coops: [{ id: 'co_x', name: 'A & B \\ "C"' }] };
const partners = [{ name: 'all', everything: true }];
const service = serviceForAllTests({ engine: 'sqlite', catalog, partners, clock: Date.now });
const server = forAllTests(() => CuttingServer.start(service.url));
const made = forAllTests(createEmptyDatabase);
beforeAll(async () => {
  copy = new pg.Client({ connectionString: databaseUrlOf(made.config) });
  await copy.connect();
  const { hostname, port, username, password, pathname } = new URL(databaseUrlOf(made.config));
  environment = {
    ...{ PGHOST: hostname, PGPORT: port, PGUSER: username, PGPASSWORD: password, PGDATABASE: pathname.slice(1) },
    PARTNER_DATA_URL: server.url,
    PARTNER_DATA_KEY: service.partner('all').key,
    PATH: `${folder}/bin:${process.env['PATH']}`,
  };
  await recordArguments(['curl', 'psql', 'sed']);
  expect(await run(CREATE)).toMatchObject({ code: 0, stderr: '' });
});
afterAll(() => copy.end());

/** Puts programs of these names first that write their arguments to a file. */
async function recordArguments(names: readonly string[]): Promise<void> {
  await mkdir(join(folder, 'bin'));
  for (const name of names) {
    const found = name === 'sed' ? '/bin/sed' : findInstalled(name as 'curl' | 'psql');
    const file = join(folder, 'bin', name);
    await writeFile(file, `#!/bin/sh\nprintf '%s\\n' "$@" >> ${folder}/arguments\nexec ${found} "$@"\n`);
    await chmod(file, 0o755);
  }
  // As short as in the other tests of programs that wait.
  await writeFile(join(folder, '.curlrc'), 'retry-delay = 1\n');
}

async function run(script: string, others: Record<string, string> = {}): Promise<MirrorEnd> {
  return startProgram('bash', ['-c', `cd ${folder}\n${script}`], { ...environment, CURL_HOME: folder, ...others })
    .ended;
}

async function readCopy(): Promise<Record<string, Map<string, Json>>> {
  const found: Record<string, Map<string, Json>> = {};
  for (const table of Object.keys(LISTS)) {
    const { rows } = await copy.query<{ id: string; record: Json }>(`select * from partner_data.${table}`);
    found[table] = new Map(rows.map(({ id, record }) => [id, record]));
  }
  return found;
}

/** The records that the service shows, as the test reads them itself. */
async function served(kinds: readonly string[] = Object.values(LISTS)): Promise<Record<string, Map<string, Json>>> {
  const { key } = service.partner('all');
  const found: Record<string, Map<string, Json>> = {};
  for (const [table, list] of Object.entries(LISTS)) {
    const pages = kinds.includes(list) ? await service.listAllPages(`/v1/${list}`, key, [100]) : [];
    const listed = pages.flatMap(({ body }) => (JSON.parse(body) as { data: Json[] }).data);
    const records = await Promise.all(
      listed.map(async (record) =>
        ['solicitations', 'suppliers'].includes(list)
          ? (JSON.parse((await service.get(`/v1/${list}/${String(record['id'])}`, { key })).body) as Json)
          : record,
      ),
    );
    found[table] = new Map(records.map((record) => [String(record['id'] ?? record['abbreviation']), record]));
  }
  return found;
}

async function succeeds(kinds?: readonly string[]): Promise<string> {
  server.fault = null;
  server.requests = 0;
  const { code, stdout, stderr } = await run(FOLLOW);
  expect([code, stderr]).toEqual([0, '']);
  expect(await readCopy()).toEqual(await served(kinds));
  return stdout;
}

describe('the copy in PostgreSQL', () => {
  testWith('curl', 'psql')('has what the service shows after each run, in tables as those of the mirror', async () => {
    expect(await succeeds()).toMatch(/^40 contracts, next from \d{4}-\S+Z\n$/);
    const before = await copy.query('select xmin::text from partner_data.contracts order by id');
    await succeeds();
    expect(server.requests).toBe(5);
    expect((await copy.query('select xmin::text from partner_data.contracts order by id')).rows).toEqual(before.rows);
    await publishLines(service.database, {
      contracts: [
        { id: 'ctr_0', deleted: true },
        { ...contract('ctr_1'), supplier_ids: ['sup_2'], coop_id: null },
      ],
      solicitations: [{ ...solicitation('sol_1', 1), status: 'closed', title: 'Another' }],
      'lead-entities': [
        { id: 'le_a', name: 'Renamed' },
        { id: 'le_new', name: 'New' },
      ],
    });
    await service.noticeChanges();
    await succeeds();
    const read = async (columns: string, table: string) =>
      (await copy.query<Json>(`select ${columns} from partner_data.${table}`)).rows;
    expect(await read('name, lead_entity_id, coop_id, summary', `contracts where id = 'ctr_1'`)).toEqual([
      { name: 'Contract ctr_1', lead_entity_id: 'le_a', coop_id: null, summary: 'Asphalt' },
    ]);
    expect(await read('supplier_id', `contract_suppliers where contract_id = 'ctr_1'`)).toEqual([
      { supplier_id: 'sup_2' },
    ]);
    expect(await read('title, is_open', 'solicitations order by id')).toEqual([
      { title: 'Another', is_open: false },
      { title: 'Solicitation sol_2', is_open: true },
    ]);
    expect(await read('abbreviation, type', 'certifications order by id')).toEqual([
      { abbreviation: 'ISO', type: 'technical' },
      { abbreviation: 'MBE', type: 'sbe' },
    ]);
  });

  testWith('curl', 'psql')('is left as it was by any failure, which ends the run with a message', async () => {
    await succeeds();
    await publishLines(service.database, { contracts: [{ id: 'ctr_2', deleted: true }] });
    await service.noticeChanges();
    const before = await readCopy();
    const state = async () => (await copy.query<Json>('select watermark from partner_data.state')).rows;
    const since = await state();
    const fails = async (what: string, fault: Fault | null): Promise<MirrorEnd> => {
      server.fault = fault;
      server.requests = 0;
      const ran = await run(FOLLOW);
      expect(ran.code, what).toBeGreaterThan(0);
      expect(ran.stderr, what).not.toBe('');
      expect([await readCopy(), await state()], what).toEqual([before, since]);
      return ran;
    };
    const inMeta = (body: Buffer): number => body.lastIndexOf('"meta"') + 12;
    await fails('a short list that is cut', { cutAt: () => 20, end: 'closed' });
    server.faultyTargets = /changes/;
    await fails('changes that are cut', { cutAt: (body) => body.indexOf('\n') + 1, end: 'closed' });
    for (const cutAt of [() => 0, () => 20, (body: Buffer) => body.indexOf('\n') + 1, inMeta])
      await fails('changes that a proxy cuts', { cutAt, end: 'complete' });
    server.faultyTargets = /./;
    for (const [status, code] of [
      [401, 'unauthorized'],
      [403, 'forbidden'],
      [429, 'rate_limited'],
      [500, 'internal_error'],
    ] as const) {
      const { stderr } = await fails(code, { status, code });
      expect(stderr).toContain(`The service responded with ${status}: {"error":{"code":"${code}"`);
      if (status === 401) expect(server.requests).toBe(1);
    }
    await server.close();
    await fails('a service that is down', null);
    await server.open();
    await succeeds();
  });

  testWith('curl', 'psql')('loses the records of kinds that the key can no longer read', async () => {
    const kinds = ['contracts', 'coops'] as const;
    await setPartner(service.database, Date.now, 'all', { requestsPerMinute: 1_000_000, kinds });
    await service.noticeChanges();
    await succeeds(kinds);
    await setPartner(service.database, Date.now, 'all', { requestsPerMinute: 1_000_000, kinds: null });
    await service.noticeChanges();
    await succeeds();
  });

  testWith('curl', 'psql')('is read again by the next run if the service counts other records', async () => {
    const other = await startCountingServer();
    const follow = () => run(FOLLOW, { PARTNER_DATA_URL: other.url });
    await copy.query('update partner_data.state set watermark = null');
    other.wrong = 1;
    expect(await follow()).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('reads everything again') as string,
    });
    for (let time = 0; time < 2; time += 1)
      expect((await follow()).stdout).toContain('1 contracts, next from 2026-04-15T');
    expect(other.takeListings()).toEqual(['all', 'all', 'changes']);
    // The watermark is of another service.
    await succeeds();
  });

  testWith('curl', 'psql')('needs no argument with the key or the password', async () => {
    await succeeds();
    const given = await readFile(join(folder, 'arguments'), 'utf8');
    expect(given).toContain('/v1/changes?format=ndjson');
    expect(given).not.toContain(service.partner('all').key.split('_').at(-1));
    expect(given).not.toContain('Bearer');
  });
});

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { issueKey } from '../../../src/access/key-admin.ts';
import { setPartner, suspendPartner } from '../../../src/access/partner-admin.ts';
import { makePartner } from '../../../test/support/partners.ts';
import { contract, solicitation } from '../../../test/support/publishing.ts';
import { readCopy, STORES, storeOptions, type StoreType } from './support/copies.ts';
import { firstCatalog } from './support/histories.ts';
import { startMirror } from './support/mirror-process.ts';
import { MirroredService } from './support/mirrored-service.ts';

const OPEN = { ...solicitation('sol_1', 2), lead_entity_id: 'le_1' };
const OWNERS = { lead_entity_id: 'le_1', coop_id: 'co_0' };

let service: MirroredService;

const PARTNER = { name: 'acme', everything: true };

beforeEach(async () => {
  service = await MirroredService.start(firstCatalog(), PARTNER);
});
afterEach(() => service.close());

/** Runs a mirror undisturbed. */
async function mirror(...args: string[]) {
  service.intercept(null);
  return service.startMirror(...args).ended;
}

/** Runs a mirror that is killed before a request reaches the service; returns the targets of its requests. */
async function killAt(index: number, args: readonly string[]): Promise<string[]> {
  const killed = service.startMirror(...args);
  service.intercept((_request, at) => {
    if (at === index) killed.kill('SIGKILL');
  });
  expect((await killed.ended).code).toBeNull();
  return service.targets;
}

/** The parsed lines of `--json`: changes, then the report. */
function parseJson(stdout: string): { changes: object[]; report: Record<string, unknown> } {
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const report = lines.pop() ?? {};
  return { changes: lines, report };
}

const isChanges = (target: string): boolean => target.startsWith('/v1/changes?');

/** Lists all files under a folder. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

describe.each(STORES)('a mirror into %s', (type: StoreType) => {
  const args = (): string[] => storeOptions(type, service.folder);

  test('has every record with its details, and a run without news is two requests', async () => {
    const { code, stderr } = await mirror(...args());
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(readCopy(type, service.folder)).toEqual(await service.served());
    expect((await mirror(...args())).code).toBe(0);
    expect(service.targets).toEqual(['/v1/key', expect.stringMatching(/^\/v1\/changes\?.*updated_since=/)]);
  });

  test('that was killed during its first copy continues with the piece it had requested', async () => {
    const [interruptedAt = ''] = (await killAt(6, args())).slice(-1);
    expect(interruptedAt).toMatch(/^\/v1\/changes\?.*cursor=/);
    await service.publish({ contracts: [{ id: 'ctr_0', deleted: true }] });
    await service.settle();
    const { code, stderr } = await mirror(...args());
    expect(code, stderr).toBe(0);
    const feed = service.targets.filter(isChanges);
    // The piece before it may not have been saved.
    expect(feed.slice(0, 2)).toContain(interruptedAt);
    // Once the listing is complete, the mirror requests the changes since it began.
    expect(feed.findLast((target) => !target.includes('cursor='))).toContain('updated_since=');
    expect(readCopy(type, service.folder)).toEqual(await service.served());
  });

  test('applies changes of details, removals and ended grants in the next run', async () => {
    await mirror(...args());
    const notices = [{ id: 1, title: 'An addendum', body: '', created_at: '2026-01-01T00:00:00.000Z' }];
    await service.publish({
      solicitations: [{ id: 'sol_0', deleted: true }, { ...OPEN, notices }],
      contracts: [{ id: 'ctr_1', deleted: true }],
      'lead-entities': [{ id: 'le_2', name: 'Renamed' }],
    });
    await service.settle();
    expect((await mirror(...args())).code).toBe(0);
    const copy = readCopy(type, service.folder);
    expect(copy.details.get('sol_1')).toMatchObject({ notices });
    expect(copy).toEqual(await service.served());
    await service.change('grant', { everything: false, leadEntities: ['le_1'], coops: [] });
    await service.change('revoke', { everything: true, leadEntities: [], coops: [] });
    await service.settle();
    expect((await mirror(...args())).code).toBe(0);
    expect(readCopy(type, service.folder)).toEqual(await service.served());
    expect(readCopy(type, service.folder).contracts.size).toBeLessThan(9);
  });

  test('requests the short lists again only if something was published, with their ETags', async () => {
    await mirror(...args());
    await service.publish({ coops: [{ id: 'co_new', name: 'New' }] });
    await service.settle();
    await mirror(...args());
    const lists = service.proxy.passed.filter(({ target }) => !isChanges(target) && target !== '/v1/key');
    expect(lists.map(({ target, isConditional }) => [target, isConditional])).toEqual([
      ['/v1/lead-entities', true],
      ['/v1/coops', true],
      ['/v1/city-services', true],
      ['/v1/certifications', true],
    ]);
    expect(readCopy(type, service.folder)).toEqual(await service.served());
  });

  test('leaves out the kinds that its key cannot read, drops their records, and says so once', async () => {
    await mirror(...args());
    await setPartner(service.database, Date.now, 'acme', {
      requestsPerMinute: 1_000_000,
      kinds: ['contracts', 'lead-entities', 'coops', 'city-services'],
    });
    await service.settle();
    const narrowed = await mirror(...args(), '--json');
    expect(narrowed.code, narrowed.stderr).toBe(0);
    expect(narrowed.stderr).toContain('suppliers: not in the copy, because your key has no access to them (403)');
    const { changes, report } = parseJson(narrowed.stdout);
    expect(report).toMatchObject({ ok: true, reset: true, kinds: { suppliers: null, solicitations: null } });
    expect(changes).toContainEqual({ kind: 'suppliers', id: 'sup_0', change: 'removed' });
    expect(changes).toHaveLength(8 + 14 + 2);
    const copy = readCopy(type, service.folder);
    expect([copy.suppliers.size, copy.solicitations.size, copy.certifications.size]).toEqual([0, 0, 0]);
    expect(copy.contracts.size).toBe(10);
    expect((await mirror(...args())).stderr).toBe('');
    await setPartner(service.database, Date.now, 'acme', { requestsPerMinute: 1_000_000, kinds: null });
    await service.settle();
    expect((await mirror(...args())).code).toBe(0);
    expect(readCopy(type, service.folder)).toEqual(await service.served());
  });

  test('of a key that can read short lists only has these', async () => {
    await setPartner(service.database, Date.now, 'acme', { requestsPerMinute: 1_000_000, kinds: ['coops'] });
    await service.settle();
    for (const name of ['co_0', 'co_new']) {
      await service.publish({ coops: [{ id: name, name }] });
      await service.settle();
      expect((await mirror(...args())).code).toBe(0);
      expect(readCopy(type, service.folder).coops.has(name)).toBe(true);
    }
  });

  test("with another partner's key has what that partner sees", async () => {
    const other = await makePartner(service.database, Date.now, { name: 'other', leadEntities: ['le_2'] });
    await service.settle();
    await mirror(...args());
    const environment = { PARTNER_DATA_URL: service.proxy.url, PARTNER_DATA_KEY: other.key };
    const { code, stderr } = await startMirror(args(), environment).ended;
    expect(code, stderr).toBe(0);
    expect([...readCopy(type, service.folder).contracts.keys()]).toEqual(['ctr_2', 'ctr_5', 'ctr_8']);
  });

  test('of a suspended partner exits with 1 and leaves the copy unchanged', async () => {
    await mirror(...args());
    const before = readCopy(type, service.folder);
    await suspendPartner(service.database, Date.now, 'acme');
    await service.settle();
    const { code, stderr } = await mirror(...args());
    expect(stderr).toContain('the service rejects all requests (403)');
    expect(code).toBe(1);
    expect(readCopy(type, service.folder)).toEqual(before);
  });

  test('begins again once if its cursor is rejected, and reports a second rejection', async () => {
    const spoil = (target: string) => target.replace(/cursor=[^&]+/, 'cursor=spoiled').replace('limit=10000', 'limit=3');
    service.intercept(({ target }, index) => (index === 4 ? { target: spoil(target) } : {}));
    const { code, stderr } = await service.startMirror(...args()).ended;
    expect(code, stderr).toBe(0);
    expect(service.proxy.passed.filter(({ status }) => status === 400)).toHaveLength(1);
    expect(readCopy(type, service.folder)).toEqual(await service.served());
  });

  test('waits for a server of the earlier version to be replaced', async () => {
    const body = '{"error":{"code":"not_found","message":"There is no such path.","request_id":"req_1"}}';
    const respond = `HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`;
    service.intercept((_request, index) => (index === 1 || index === 2 ? { respond } : {}));
    const { code, stderr } = await service.startMirror(...args()).ended;
    expect(code, stderr).toBe(0);
    expect(readCopy(type, service.folder)).toEqual(await service.served());
  });

  test('reads a piece again whose connection is reset, and no other', async () => {
    service.intercept((_request, index) => (index === 3 ? { cutAfter: 700 } : index === 6 ? { cutAfter: 0 } : {}));
    expect((await service.startMirror(...args()).ended).code).toBe(0);
    const feed = service.targets.filter(isChanges);
    expect(feed.length - new Set(feed).size).toBe(2);
    expect(readCopy(type, service.folder)).toEqual(await service.served());
  });

  test('locks its copy, and a killed mirror leaves no lock', async () => {
    const first = service.startMirror(...args(), '--watch', '1h');
    await first.printed('held');
    const second = await mirror(...args());
    expect(second).toMatchObject({ code: 1, stdout: '' });
    expect(second.stderr).toContain('another mirror is using it');
    first.kill('SIGKILL');
    await first.ended;
    expect((await mirror(...args())).code).toBe(0);
  });

  test('that watches continues after the service was down', async () => {
    await service.close();
    service = await MirroredService.start(firstCatalog(), PARTNER, { isKillable: true });
    const watching = service.startMirror(...args(), '--watch', '1s', '--json');
    await watching.printed('"ok":true');
    await service.killService();
    await service.publish({ coops: [{ id: 'co_new', name: 'New' }] });
    await service.serve();
    while (!readCopy(type, service.folder).coops.has('co_new')) await service.settle();
    watching.kill('SIGTERM');
    expect((await watching.ended).code).toBe(0);
  });

  test('that is stopped early exits with 1, and the next one continues from there', async () => {
    const stopped = service.startMirror(...args());
    service.intercept((_request, index) => (index === 6 ? void stopped.kill('SIGTERM') : undefined));
    const { code, stderr } = await stopped.ended;
    expect(stderr).toContain('stopped; the next run continues from here');
    expect(code).toBe(1);
    // The request in flight completed. A whole run takes twice as many requests.
    expect(service.proxy.passed.every(({ status }) => status === 200)).toBe(true);
    expect(service.targets.length).toBeLessThan(9);
    expect((await mirror(...args())).code).toBe(0);
    expect(service.targets.filter(isChanges)[0]).toContain('cursor=');
    expect(readCopy(type, service.folder)).toEqual(await service.served());
  });

  test('accepts the options that are no longer needed, and warns', async () => {
    const given = ['--reconcile', '--reconcile-every', '1d', '--refresh', '0d'];
    const { code, stdout, stderr } = await mirror(...args(), ...given);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^contracts +10 +10 +0 +0$/m);
    for (const option of given.filter((word) => word.startsWith('--')))
      expect(stderr).toContain(`${option} has no effect any more: every sync finds removed records and changed details\n`);
  });

  test('reports what was added, changed and removed, but not each record of a first copy', async () => {
    const first = parseJson((await mirror(...args(), '--json')).stdout);
    expect(first.changes).toEqual([]);
    expect(first.report).toMatchObject({ first_copy: true, kinds: { contracts: { held: 10, added: 10 } } });
    const changed = {
      'lead-entities': [{ id: 'le_new', name: 'New' }],
      solicitations: [
        { id: 'sol_0', deleted: true },
        { ...OPEN, title: 'Another' },
        { ...OPEN, id: 'sol_new', ref: 99 },
      ],
    };
    await service.publish(changed);
    await service.settle();
    const { changes, report } = parseJson((await mirror(...args(), '--json')).stdout);
    expect(changes).toHaveLength(4);
    expect(changes).toEqual(
      expect.arrayContaining([
        { kind: 'lead-entities', id: 'le_new', change: 'added' },
        { kind: 'solicitations', id: 'sol_0', change: 'removed' },
        { kind: 'solicitations', id: 'sol_1', change: 'changed' },
        { kind: 'solicitations', id: 'sol_new', change: 'added' },
      ]),
    );
    expect(report).toMatchObject({
      ok: true,
      first_copy: false,
      reset: false,
      kinds: {
        'lead-entities': { held: 4, added: 1, changed: 0, removed: 0 },
        contracts: { held: 10, added: 0, changed: 0, removed: 0 },
        solicitations: { held: 14, added: 1, changed: 1, removed: 1 },
      },
    });
    expect(parseJson((await mirror(...args(), '--json')).stdout).changes).toEqual([]);
  });

  test('passes changes to the command of --on-change until it succeeds, each once if it does', async () => {
    const log = join(service.folder, 'log');
    const succeed = ['--on-change', `cat >> '${log}'`];
    await mirror(...args(), ...succeed);
    expect(existsSync(log)).toBe(false);
    await service.publish({ contracts: [{ id: 'ctr_1', deleted: true }] });
    await service.settle();
    const failed = await mirror(...args(), '--on-change', 'exit 7');
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr).toContain('the command of --on-change failed (exit code 7)');
    // A kill before the report is no different.
    expect((await mirror(...args(), '--on-change', 'kill -9 $PPID')).code).toBeNull();
    for (let run = 0; run < 2; run += 1) expect((await mirror(...args(), ...succeed)).code).toBe(0);
    expect(readFileSync(log, 'utf8')).toBe('{"kind":"contracts","id":"ctr_1","change":"removed"}\n');
  });

  test('puts the key into no file, output or URL', async () => {
    const runs = [await mirror(...args()), await mirror(...args(), '--json')];
    const secret = service.key.split('_').at(-1) ?? '';
    expect(secret).toMatch(/^\w{44}$/);
    for (const { stdout, stderr } of runs) expect(stdout + stderr).not.toContain(secret);
    for (const path of filesIn(service.folder)) expect(readFileSync(path).includes(secret), path).toBe(false);
    expect(service.targets.join('\n')).not.toContain(secret);
    expect(service.proxy.passed.every(({ authorization }) => authorization === `Bearer ${service.key}`)).toBe(true);
  });

  test('rejects the copy of another service', async () => {
    await mirror(...args());
    const { code, stderr } = await service.startMirror(...args(), '--url', `${service.proxy.url}/elsewhere`).ended;
    expect(stderr).toContain(`is a copy of ${service.proxy.url}`);
    expect(code).toBe(1);
  });
});

test('each run warns once, on stderr only, that the key ends', async () => {
  const issued = await issueKey(service.database, Date.now, 'acme', { environment: 'test', lifetimeMs: 86_400_000 });
  const run = () =>
    startMirror(['--ndjson', join(service.folder, 'copy'), '--json'], {
      ...{ PARTNER_DATA_URL: service.proxy.url, PARTNER_DATA_KEY: issued.key },
    }).ended;
  const { id, expiresAt } = issued.details;
  const warning = `partner-data-mirror: API key ${id} ends at ${expiresAt}: change to another key before\n`;
  for (let time = 0; time < 2; time += 1) {
    const { code, stdout, stderr } = await run();
    expect(code, stderr).toBe(0);
    expect(stderr.split(warning)).toHaveLength(2);
    expect(JSON.parse(stdout)).toMatchObject({ ok: true });
  }
});

test("another program's database is rejected and left unchanged", async () => {
  const path = join(service.folder, 'other.sqlite');
  const other = new DatabaseSync(path);
  other.exec('create table theirs (id text)');
  other.close();
  const before = readFileSync(path);
  const { code, stderr } = await mirror('--sqlite', path);
  expect(stderr).toContain("is another program's database and was not changed");
  expect(code).toBe(1);
  expect(readFileSync(path)).toEqual(before);
});

test('a folder in place of a database is rejected and left unchanged', async () => {
  const path = join(service.folder, 'folder');
  mkdirSync(path);
  const { code, stderr } = await mirror('--sqlite', path);
  expect(stderr).toContain('cannot open it as a SQLite file');
  expect(code).toBe(1);
  expect(existsSync(path)).toBe(true);
});

test('a copy in SQLite joins contracts with their suppliers and city services', async () => {
  const args = storeOptions('sqlite', service.folder);
  await mirror(...args);
  const change = (supplier_ids: string[], city_service_ids: string[]) =>
    service.publish({
      contracts: [{ ...contract('ctr_1'), ...OWNERS, supplier_ids, city_service_ids }],
    });
  const joined = (): unknown[] => {
    const database = new DatabaseSync(join(service.folder, 'copy.sqlite'), { readOnly: true });
    const rows = database.prepare(
      `select (select group_concat(supplier_id) from contract_suppliers where contract_id = 'ctr_1') as suppliers,
        (select group_concat(city_service_id) from contract_city_services where contract_id = 'ctr_1') as services,
        (select count(*) from contract_suppliers) as links`,
    );
    const found = Object.values(rows.get() ?? {});
    database.close();
    return found;
  };
  expect(joined()).toEqual(['sup_1', 'cs_1', 10]);
  await change(['sup_2', 'sup_3'], []);
  await service.settle();
  await mirror(...args);
  expect(joined()).toEqual(['sup_2,sup_3', null, 11]);
  await service.publish({ contracts: [{ id: 'ctr_1', deleted: true }] });
  await service.settle();
  await mirror(...args);
  expect(joined()).toEqual([null, null, 9]);
});

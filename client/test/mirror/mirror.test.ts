import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { issueKey } from '../../../src/access/key-admin.ts';
import { setPartner, suspendPartner } from '../../../src/access/partner-admin.ts';
import { solicitation } from '../../../test/support/publishing.ts';
import { readCopy, STORES, storeOptions, type StoreType } from './support/copies.ts';
import { firstCatalog } from './support/histories.ts';
import { startMirror } from './support/mirror-process.ts';
import { MirroredService } from './support/mirrored-service.ts';

const OPEN = { ...solicitation('sol_1', 2), lead_entity_id: 'le_1' };

let service: MirroredService;

const PARTNER = { name: 'acme', everything: true };

beforeEach(async () => {
  service = await MirroredService.start(firstCatalog(), PARTNER);
});
afterEach(() => service.close());

async function mirror(...args: string[]) {
  service.pages.passed = [];
  return service.startMirror(...args).ended;
}

const targets = (): string[] => service.pages.passed.map(({ target }) => target);
const details = () => service.pages.passed.filter(({ target }) => target.startsWith('/v1/solicitations/sol_'));

/** Lists all files under a folder. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

describe.each(STORES)('a mirror into %s', (type: StoreType) => {
  const args = (): string[] => storeOptions(type, service.folder);

  test('that was killed continues with the page it had requested', async () => {
    const killed = service.startMirror(...args());
    service.pages.disturb({ atRequest: 9, moment: 'before', act: () => killed.kill('SIGKILL') });
    expect((await killed.ended).code).toBeNull();
    expect(targets().at(-1)).toMatch(/^\/v1\/suppliers\?.*cursor=/);
    service.pages.disturb(null);
    const interruptedAt = targets().at(-1);
    const { code, stderr } = await mirror(...args());
    expect(code, stderr).toBe(0);
    const suppliers = targets().filter((target) => target.startsWith('/v1/suppliers'));
    // Once the listing is complete, the mirror requests the changes since it began.
    expect(suppliers[0]).toBe(interruptedAt);
    expect(suppliers.at(-1)).toContain('updated_since=');
    expect(suppliers.every((target) => /cursor=|updated_since=/.test(target))).toBe(true);
    expect(readCopy(type, service.folder)).toEqual(await service.served());
  });

  test('that was killed resumes without re-reading details saved before the kill', async () => {
    const killed = service.startMirror(...args());
    service.pages.disturb({ atRequest: 28, moment: 'before', act: () => killed.kill('SIGKILL') });
    await killed.ended;
    service.pages.disturb(null);
    // The last request got no response, and the detail before it may not have been saved.
    const read = details().slice(0, -2);
    expect(read.length).toBeGreaterThan(2);
    expect((await mirror(...args())).code).toBe(0);
    for (const { target } of read) {
      const again = details().find((passed) => passed.target === target);
      expect(again?.isConditional ?? true, target).toBe(true);
    }
    expect(readCopy(type, service.folder)).toEqual(await service.served());
  });

  test('that was killed while reconciling also finds records removed on pages it had already read', async () => {
    await mirror(...args());
    const killed = service.startMirror(...args(), '--reconcile');
    service.pages.passed = [];
    service.pages.disturb({ atRequest: 10, moment: 'before', act: () => killed.kill('SIGKILL') });
    await killed.ended;
    service.pages.disturb(null);
    expect(targets().at(-1)).toMatch(/^\/v1\/contracts\?.*cursor=/);
    await service.publish({ contracts: [{ id: 'ctr_0', deleted: true }] });
    await service.settle();
    expect((await mirror(...args(), '--reconcile')).code).toBe(0);
    const [copy, served] = [readCopy(type, service.folder), await service.served()];
    expect(copy.contracts.has('ctr_0')).toBe(false);
    expect(copy).toEqual(served);
  });

  test('sends conditional requests for stored details, and receives 304 for unchanged ones', async () => {
    await mirror(...args());
    expect(details().every(({ isConditional, status }) => !isConditional && status === 200)).toBe(true);
    await mirror(...args(), '--refresh', '0d');
    expect(details()).toHaveLength(14);
    expect(details().every(({ isConditional, status }) => isConditional && status === 304)).toBe(true);
    await mirror(...args());
    // The three open ones first. Hardly any time has passed, so the share of the others is a single one.
    const read = details().map(({ target }) => target.split('_')[1]);
    expect(read.slice(0, 3).sort()).toEqual(['10', '2', '6']);
    expect(read).toHaveLength(4);
  });

  test('skips the lists that its key cannot read, reports them once, and drops their records when it reconciles', async () => {
    await mirror(...args());
    await setPartner(service.database, Date.now, 'acme', {
      requestsPerMinute: 1_000_000,
      kinds: ['contracts', 'lead-entities', 'coops', 'city-services', 'certifications'],
    });
    await service.settle();
    const refused = await mirror(...args(), '--json');
    expect(refused.code, refused.stderr).toBe(0);
    expect(refused.stderr).toContain('suppliers: skipped, because your key has no access to them (403)');
    expect(JSON.parse(refused.stdout)).toMatchObject({ ok: true, kinds: { suppliers: null }, details: null });
    expect(readCopy(type, service.folder).suppliers.size).toBe(8);
    const reconciled = await mirror(...args(), '--reconcile');
    expect(reconciled.stderr).toBe('');
    const copy = readCopy(type, service.folder);
    expect([copy.suppliers.size, copy.solicitations.size, copy.details.size]).toEqual([0, 0, 0]);
    expect(copy.contracts.size).toBe(10);
    await setPartner(service.database, Date.now, 'acme', { requestsPerMinute: 1_000_000, kinds: null });
    await service.settle();
    expect((await mirror(...args())).code).toBe(0);
    expect(readCopy(type, service.folder)).toEqual(await service.served());
  });

  test('of a suspended partner exits with 1 and leaves the copy unchanged', async () => {
    await mirror(...args());
    const before = readCopy(type, service.folder);
    await suspendPartner(service.database, Date.now, 'acme');
    await service.settle();
    const suspended = service.startMirror(...args(), '--reconcile');
    const { code, stderr } = await suspended.ended;
    expect(stderr).toContain('the service rejects all requests (403)');
    expect(code).toBe(1);
    expect(readCopy(type, service.folder)).toEqual(before);
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
    service.pages.disturb({ atRequest: 14, moment: 'before', act: () => stopped.kill('SIGTERM') });
    const { code, stderr } = await stopped.ended;
    expect(stderr).toContain('stopped; the next run continues from here');
    expect(code).toBe(1);
    service.pages.disturb(null);
    // The request in flight completed. A whole run takes more than twice as many requests.
    expect(service.pages.passed.every(({ status }) => status === 200)).toBe(true);
    expect(service.pages.passed.length).toBeLessThan(17);
    expect((await mirror(...args())).code).toBe(0);
    expect(readCopy(type, service.folder)).toEqual(await service.served());
  });

  test('reports the size of a first run, and only of a first run', async () => {
    const first = await mirror(...args());
    expect(first.stderr).toContain('First run: 14 solicitations, 3 of them open, take about 15 requests');
    expect(first.stdout).toMatch(/^contracts +10 +10 +0 +0$/m);
    const second = await mirror(...args());
    expect(second.stderr).toBe('');
    expect(second.stdout).toMatch(/^contracts +10 +0 +0 +0$/m);
  });

  test('reports what was added, changed and removed', async () => {
    await mirror(...args());
    await service.publish({
      'lead-entities': [{ id: 'le_new', name: 'New' }],
      solicitations: [
        { id: 'sol_0', deleted: true },
        { ...OPEN, title: 'Another' },
        { ...OPEN, id: 'sol_new', ref: 99 },
      ],
    });
    await service.settle();
    const { stdout } = await mirror(...args(), '--reconcile', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      reconciled: true,
      kinds: {
        'lead-entities': { held: 4, added: 1, changed: 0, removed: 0 },
        'city-services': { held: 1, added: 0, changed: 0, removed: 0 },
        contracts: { held: 10, added: 0, changed: 0, removed: 0 },
        solicitations: { held: 14, added: 1, changed: 1, removed: 1 },
      },
    });
  });

  test('puts the key into no file, output or URL', async () => {
    const runs = [await mirror(...args()), await mirror(...args(), '--reconcile', '--json')];
    const secret = service.key.split('_').at(-1) ?? '';
    expect(secret).toMatch(/^\w{44}$/);
    for (const { stdout, stderr } of runs) expect(stdout + stderr).not.toContain(secret);
    for (const path of filesIn(service.folder)) expect(readFileSync(path).includes(secret), path).toBe(false);
    expect(targets().join('\n')).not.toContain(secret);
    expect(service.pages.passed.every(({ authorization }) => authorization === `Bearer ${service.key}`)).toBe(true);
  });

  test('rejects the copy of another service', async () => {
    await mirror(...args());
    const { code, stderr } = await service.startMirror(...args(), '--url', `${service.pages.url}/elsewhere`).ended;
    expect(stderr).toContain(`is a copy of ${service.pages.url}`);
    expect(code).toBe(1);
  });
});

test('each run warns once, on stderr only, that the key ends', async () => {
  const issued = await issueKey(service.database, Date.now, 'acme', { environment: 'test', lifetimeMs: 86_400_000 });
  const run = () =>
    startMirror(['--ndjson', join(service.folder, 'copy'), '--json'], {
      ...{ PARTNER_DATA_URL: service.pages.url, PARTNER_DATA_KEY: issued.key },
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

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { setPartner, suspendPartner } from '../../../src/access/partner-admin.ts';
import { solicitation } from '../../../test/support/publishing.ts';
import { readCopy, STORES, storeWords, type StoreType } from './support/copies.ts';
import { firstCatalog } from './support/histories.ts';
import { MirroredService } from './support/mirrored-service.ts';

const OPEN = { ...solicitation('sol_1', 2), lead_entity_id: 'le_1' };

let service: MirroredService;

const PARTNER = { name: 'acme', everything: true };

beforeEach(async () => {
  service = await MirroredService.start(firstCatalog(), PARTNER);
});
afterEach(() => service.close());

async function mirror(...words: string[]) {
  service.pages.passed = [];
  return service.startMirror(...words).ended;
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
  const words = (): string[] => storeWords(type, service.folder);

  test('that was killed goes on with the page at which it broke off', async () => {
    const killed = service.startMirror(...words());
    service.pages.disturb({ atRequest: 9, moment: 'before', act: () => killed.kill('SIGKILL') });
    expect((await killed.ended).code).toBeNull();
    expect(targets().at(-1)).toMatch(/^\/v1\/suppliers\?.*cursor=/);
    service.pages.disturb(null);
    const brokenOffAt = targets().at(-1);
    const { code, stderr } = await mirror(...words());
    expect(code, stderr).toBe(0);
    const suppliers = targets().filter((target) => target.startsWith('/v1/suppliers'));
    // Once the listing is complete, the mirror requests the changes since it began.
    expect(suppliers[0]).toBe(brokenOffAt);
    expect(suppliers.at(-1)).toContain('updated_since=');
    expect(suppliers.every((target) => /cursor=|updated_since=/.test(target))).toBe(true);
    expect(readCopy(type, service.folder)).toEqual(await service.served());
  });

  test('that was killed among the details holds those that it has read', async () => {
    const killed = service.startMirror(...words());
    service.pages.disturb({ atRequest: 28, moment: 'before', act: () => killed.kill('SIGKILL') });
    await killed.ended;
    service.pages.disturb(null);
    // The last request got no response, and the detail before it may not have been saved.
    const read = details().slice(0, -2);
    expect(read.length).toBeGreaterThan(2);
    expect((await mirror(...words())).code).toBe(0);
    for (const { target } of read) {
      const again = details().find((passed) => passed.target === target);
      expect(again?.isConditional ?? true, target).toBe(true);
    }
    expect(readCopy(type, service.folder)).toEqual(await service.served());
  });

  test('that was killed while it reconciled finds also what was removed behind the place where it broke off', async () => {
    await mirror(...words());
    const killed = service.startMirror(...words(), '--reconcile');
    service.pages.passed = [];
    service.pages.disturb({ atRequest: 10, moment: 'before', act: () => killed.kill('SIGKILL') });
    await killed.ended;
    service.pages.disturb(null);
    expect(targets().at(-1)).toMatch(/^\/v1\/contracts\?.*cursor=/);
    await service.publish({ contracts: [{ id: 'ctr_0', deleted: true }] });
    await service.settle();
    expect((await mirror(...words(), '--reconcile')).code).toBe(0);
    const [copy, served] = [readCopy(type, service.folder), await service.served()];
    expect(copy.contracts.has('ctr_0')).toBe(false);
    expect(copy).toEqual(served);
  });

  test('asks for what is held with its tag, and of what did not change receives nothing', async () => {
    await mirror(...words());
    expect(details().every(({ isConditional, status }) => !isConditional && status === 200)).toBe(true);
    await mirror(...words(), '--refresh', '0d');
    expect(details()).toHaveLength(14);
    expect(details().every(({ isConditional, status }) => isConditional && status === 304)).toBe(true);
    await mirror(...words());
    // The three open ones first. Hardly any time has passed, so the share of the others is a single one.
    const read = details().map(({ target }) => target.split('_')[1]);
    expect(read.slice(0, 3).sort()).toEqual(['10', '2', '6']);
    expect(read).toHaveLength(4);
  });

  test('leaves out what the key may not ask for, tells it once, and drops it when it reconciles', async () => {
    await mirror(...words());
    await setPartner(service.database, Date.now, 'acme', {
      requestsPerMinute: 1_000_000,
      kinds: ['contracts', 'lead-entities', 'coops', 'city-services', 'certifications'],
    });
    await service.settle();
    const refused = await mirror(...words(), '--json');
    expect(refused.code, refused.stderr).toBe(0);
    expect(refused.stderr).toContain('suppliers: your key may not ask for them (403)');
    expect(JSON.parse(refused.stdout)).toMatchObject({ ok: true, kinds: { suppliers: null }, details: null });
    expect(readCopy(type, service.folder).suppliers.size).toBe(8);
    const reconciled = await mirror(...words(), '--reconcile');
    expect(reconciled.stderr).toBe('');
    const copy = readCopy(type, service.folder);
    expect([copy.suppliers.size, copy.solicitations.size, copy.details.size]).toEqual([0, 0, 0]);
    expect(copy.contracts.size).toBe(10);
    await setPartner(service.database, Date.now, 'acme', { requestsPerMinute: 1_000_000, kinds: null });
    await service.settle();
    expect((await mirror(...words())).code).toBe(0);
    expect(readCopy(type, service.folder)).toEqual(await service.served());
  });

  test('of a partner that is suspended ends with 1, and leaves the copy as it is', async () => {
    await mirror(...words());
    const before = readCopy(type, service.folder);
    await suspendPartner(service.database, Date.now, 'acme');
    await service.settle();
    const suspended = service.startMirror(...words(), '--reconcile');
    const { code, stderr } = await suspended.ended;
    expect(stderr).toContain('the service refuses everything (403)');
    expect(code).toBe(1);
    expect(readCopy(type, service.folder)).toEqual(before);
  });

  test('is the only one on its copy; one that was killed is not in the way', async () => {
    const first = service.startMirror(...words(), '--watch', '1h');
    await first.told('held');
    const second = await mirror(...words());
    expect(second).toMatchObject({ code: 1, stdout: '' });
    expect(second.stderr).toContain('another mirror is at work on it');
    first.kill('SIGKILL');
    await first.ended;
    expect((await mirror(...words())).code).toBe(0);
  });

  test('that watches goes on when the service was away', async () => {
    await service.close();
    service = await MirroredService.start(firstCatalog(), PARTNER, { isKillable: true });
    const watching = service.startMirror(...words(), '--watch', '1s', '--json');
    await watching.told('"ok":true');
    await service.killService();
    await service.publish({ coops: [{ id: 'co_new', name: 'New' }] });
    await service.serve();
    while (!readCopy(type, service.folder).coops.has('co_new')) await service.settle();
    watching.kill('SIGTERM');
    expect((await watching.ended).code).toBe(0);
  });

  test('that is stopped before it is done ends with 1, and the next one goes on from there', async () => {
    const stopped = service.startMirror(...words());
    service.pages.disturb({ atRequest: 14, moment: 'before', act: () => stopped.kill('SIGTERM') });
    const { code, stderr } = await stopped.ended;
    expect(stderr).toContain('stopped; the next run goes on from here');
    expect(code).toBe(1);
    service.pages.disturb(null);
    // The request in flight completed. A whole run takes more than twice as many requests.
    expect(service.pages.passed.every(({ status }) => status === 200)).toBe(true);
    expect(service.pages.passed.length).toBeLessThan(17);
    expect((await mirror(...words())).code).toBe(0);
    expect(readCopy(type, service.folder)).toEqual(await service.served());
  });

  test('says what a first run takes, and only then', async () => {
    const first = await mirror(...words());
    expect(first.stderr).toContain('First run: 14 solicitations, 3 of them open, take about 15 requests');
    expect(first.stdout).toMatch(/^contracts +10 +10 +0 +0$/m);
    const second = await mirror(...words());
    expect(second.stderr).toBe('');
    expect(second.stdout).toMatch(/^contracts +10 +0 +0 +0$/m);
  });

  test('tells what was added, changed and removed', async () => {
    await mirror(...words());
    await service.publish({
      'lead-entities': [{ id: 'le_new', name: 'New' }],
      solicitations: [
        { id: 'sol_0', deleted: true },
        { ...OPEN, title: 'Another' },
        { ...OPEN, id: 'sol_new', ref: 99 },
      ],
    });
    await service.settle();
    const { stdout } = await mirror(...words(), '--reconcile', '--json');
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

  test('keeps the key out of the copy, of what it says, and of every address', async () => {
    const runs = [await mirror(...words()), await mirror(...words(), '--reconcile', '--json')];
    const secret = service.key.split('_').at(-1) ?? '';
    expect(secret).toMatch(/^\w{44}$/);
    for (const { stdout, stderr } of runs) expect(stdout + stderr).not.toContain(secret);
    for (const path of filesIn(service.folder)) expect(readFileSync(path).includes(secret), path).toBe(false);
    expect(targets().join('\n')).not.toContain(secret);
    expect(service.pages.passed.every(({ authorization }) => authorization === `Bearer ${service.key}`)).toBe(true);
  });

  test('refuses the copy of another service', async () => {
    await mirror(...words());
    const { code, stderr } = await service.startMirror(...words(), '--url', `${service.pages.url}/elsewhere`).ended;
    expect(stderr).toContain(`is a copy of ${service.pages.url}`);
    expect(code).toBe(1);
  });
});

test('a database of another program is left as it is', async () => {
  const path = join(service.folder, 'other.sqlite');
  const other = new DatabaseSync(path);
  other.exec('create table theirs (id text)');
  other.close();
  const before = readFileSync(path);
  const { code, stderr } = await mirror('--sqlite', path);
  expect(stderr).toContain("is another program's database, and was left as it is");
  expect(code).toBe(1);
  expect(readFileSync(path)).toEqual(before);
});

test('what is no database is told as such, and left as it is', async () => {
  const path = join(service.folder, 'folder');
  mkdirSync(path);
  const { code, stderr } = await mirror('--sqlite', path);
  expect(stderr).toContain('cannot be opened as a SQLite file');
  expect(code).toBe(1);
  expect(existsSync(path)).toBe(true);
});

import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { issueKey } from '../../../src/access/key-admin.ts';
import { solicitation } from '../../../test/support/publishing.ts';
import { readCopy, STORES, storeOptions, type StoreType } from './support/copies.ts';
import { startMirrorHere } from './support/mirror-here.ts';
import { mirroredServiceForEachTest } from './support/mirrored-service.ts';

const OPEN = { ...solicitation('sol_1', 2), lead_entity_id: 'le_1' };

const service = mirroredServiceForEachTest();

/** Runs a mirror undisturbed. */
async function mirror(...args: string[]) {
  service.intercept(null);
  return service.mirror(...args);
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
    expect((await service.copied(type, mirror(...args()))).stderr).toBe('');
    expect((await mirror(...args())).code).toBe(0);
    expect(service.targets).toEqual(['/v1/key', expect.stringMatching(/^\/v1\/changes\?.*updated_since=/)]);
  });

  test('that was killed during its first copy continues with the piece it had requested', async () => {
    const [interruptedAt = ''] = (await service.killAt(6, args())).slice(-1);
    expect(interruptedAt).toMatch(/^\/v1\/changes\?.*cursor=/);
    await service.publish({ contracts: [{ id: 'ctr_0', deleted: true }] });
    await service.copied(type, mirror(...args()));
    const feed = service.targets.filter(isChanges);
    // The piece before it may not have been saved.
    expect(feed.slice(0, 2)).toContain(interruptedAt);
    // Once the listing is complete, the mirror requests the changes since it began.
    expect(feed.findLast((target) => !target.includes('cursor='))).toContain('updated_since=');
  });

  test('applies changes of details, removals and ended grants in the next run', async () => {
    await mirror(...args());
    const notices = [{ id: 1, title: 'An addendum', body: '', created_at: '2026-01-01T00:00:00.000Z' }];
    await service.publish({
      solicitations: [
        { id: 'sol_0', deleted: true },
        { ...OPEN, notices },
      ],
      contracts: [{ id: 'ctr_1', deleted: true }],
      'lead-entities': [{ id: 'le_2', name: 'Renamed' }],
    });
    await service.copied(type, mirror(...args()));
    expect(readCopy(type, service.folder).details.get('sol_1')).toMatchObject({ notices });
    await service.change('grant', { everything: false, leadEntities: ['le_1'], coops: [] });
    await service.change('revoke', { everything: true, leadEntities: [], coops: [] });
    await service.settle();
    await service.copied(type, mirror(...args()));
    expect(readCopy(type, service.folder).contracts.size).toBeLessThan(9);
  });

  test('requests the short lists again only if something was published, with their ETags', async () => {
    await mirror(...args());
    await service.publish({ coops: [{ id: 'co_new', name: 'New' }] });
    await service.copied(type, mirror(...args()));
    const lists = service.proxy.passed.filter(({ target }) => !isChanges(target) && target !== '/v1/key');
    expect(lists.map(({ target, isConditional }) => [target, isConditional])).toEqual([
      ['/v1/lead-entities', true],
      ['/v1/coops', true],
      ['/v1/city-services', true],
      ['/v1/certifications', true],
    ]);
  });

  test('begins again once if its cursor is rejected, and reports a second rejection', async () => {
    const spoil = (target: string) =>
      target.replace(/cursor=[^&]+/, 'cursor=spoiled').replace('limit=10000', 'limit=3');
    service.intercept(({ target }, index) => (index === 4 ? { target: spoil(target) } : {}));
    await service.copied(type, service.mirror(...args()));
    expect(service.proxy.passed.filter(({ status }) => status === 400)).toHaveLength(1);
  });

  test('of another layout is refused', async () => {
    await mirror(...args());
    if (type === 'sqlite') {
      using copy = new DatabaseSync(join(service.folder, 'copy.sqlite'));
      copy.exec('pragma user_version = 1');
    } else {
      const path = join(service.folder, 'copy/.mirror/state.json');
      writeFileSync(path, readFileSync(path, 'utf8').replace('"layout":2', '"layout":1'));
    }
    const message = /has layout 1; this version supports 2\. Start a new copy in another (file|directory)\n$/;
    await service.refused(args(), message);
  });

  test('reads a piece again whose connection is reset, and no other', async () => {
    service.intercept((_request, index) => {
      if (index === 3) return { cutAfter: 700 };
      return index === 6 ? { cutAfter: 0 } : {};
    });
    await service.copied(type, service.mirror(...args()));
    const feed = service.targets.filter(isChanges);
    expect(feed.length - new Set(feed).size).toBe(2);
  });

  test('locks its copy, and a killed mirror leaves no lock', async () => {
    const first = service.startMirror(...args(), '--watch', '1h');
    await first.printed('contracts 10 added');
    const { stdout } = await service.refused(args(), 'another mirror is using it');
    expect(stdout).toBe('');
    first.kill('SIGKILL');
    await first.ended;
    expect((await mirror(...args())).code).toBe(0);
  });

  test('that watches continues after the service was down', async () => {
    const watching = service.startMirrorHere([...args(), '--watch', '1s']);
    await watching.printed('contracts 10 added');
    service.intercept(() => ({ cutAfter: 0 }));
    await service.publish({ coops: [{ id: 'co_new', name: 'New' }] });
    await expect.poll(() => service.targets.length, { timeout: 20_000 }).toBeGreaterThan(1);
    service.intercept(null);
    await watching.printed('coops 1 added');
    expect(readCopy(type, service.folder)).toEqual(await service.served());
    watching.stop();
    expect((await watching.ended).code).toBe(0);
  });

  test('that is stopped early exits with 1, and the next one continues from there', async () => {
    const stopped = service.startMirror(...args());
    service.intercept((_request, index) => {
      if (index === 6) stopped.kill('SIGTERM');
      return {};
    });
    const { code, stderr } = await stopped.ended;
    expect(stderr).toContain('stopped; the next run continues from here');
    expect(code).toBe(1);
    // The request in flight completed. A whole run takes twice as many requests.
    expect(service.proxy.passed.every(({ status }) => status === 200)).toBe(true);
    expect(service.targets.length).toBeLessThan(9);
    await service.copied(type, mirror(...args()));
    expect(service.targets.find(isChanges)).toContain('cursor=');
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
    await service.refused([...args(), '--url', `${service.proxy.url}/elsewhere`], `is a copy of ${service.proxy.url}`);
  });
});

test('each run warns once, on stderr only, that the key ends', async () => {
  const issued = await issueKey(service.database, Date.now, 'acme', { environment: 'test', lifetimeMs: 86_400_000 });
  const run = () =>
    startMirrorHere(['--ndjson', join(service.folder, 'copy'), '--json'], {
      ...{ ...service.environment, PARTNER_DATA_KEY: issued.key },
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
  await service.refused(['--sqlite', path], "is another program's database and was not changed");
  expect(readFileSync(path)).toEqual(before);
});

test('a folder in place of a database is rejected and left unchanged', async () => {
  const path = join(service.folder, 'folder');
  mkdirSync(path);
  await service.refused(['--sqlite', path], 'cannot open it as a SQLite file');
  expect(existsSync(path)).toBe(true);
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readCopy, STORES, storeOptions } from './support/copies.ts';
import { firstCatalog } from './support/histories.ts';
import { MirroredService } from './support/mirrored-service.ts';

let service: MirroredService;
beforeEach(async () => {
  service = await MirroredService.start(firstCatalog(), { name: 'acme', everything: true });
});
afterEach(() => service.close());

const mirror = (...args: string[]) => service.startMirror(...args).ended;

/** Runs the mirror, and asserts that it succeeds and that the copy equals what the service returns. */
async function expectComplete(args: readonly string[]): Promise<void> {
  const { code, stderr } = await mirror(...args);
  expect(code, stderr).toBe(0);
  expect(readCopy('ndjson', service.folder)).toEqual(await service.served());
}

describe('a copy in NDJSON', () => {
  const args = (): string[] => storeOptions('ndjson', service.folder);
  const file = (name: string): string => join(service.folder, 'copy', name);

  test('with half a line at the end of the details journal, continues after the last complete line', async () => {
    await mirror(...args());
    const killed = service.startMirror(...args(), '--refresh', '0d');
    service.pages.disturb({ atRequest: 14, moment: 'after', act: () => killed.kill('SIGKILL') });
    await killed.ended;
    service.pages.disturb(null);
    const journal = file('.mirror/details-journal.ndjson');
    expect(readFileSync(journal, 'utf8').split('\n').length).toBeGreaterThan(2);
    appendFileSync(journal, '{"id":"sol_5","entry":{"etag":"half');
    const stopped = service.startMirror(...args(), '--refresh', '0d');
    service.pages.disturb({ atRequest: 16, moment: 'after', act: () => stopped.kill('SIGKILL') });
    await stopped.ended;
    service.pages.disturb(null);
    await expectComplete([...args(), '--refresh', '0d']);
  });

  test('with unrecorded lines in a partial listing, continues after the last recorded page', async () => {
    const killed = service.startMirror(...args());
    service.pages.disturb({ atRequest: 9, moment: 'before', act: () => killed.kill('SIGKILL') });
    await killed.ended;
    service.pages.disturb(null);
    expect(service.pages.passed.at(-1)?.target).toMatch(/^\/v1\/suppliers\?.*cursor=/);
    const listing = file('.mirror/suppliers-walk.ndjson');
    expect(readFileSync(listing, 'utf8').split('\n').length).toBeGreaterThan(3);
    // Longer than the page that replaces it.
    appendFileSync(listing, `{"id":"sup_9","name":"${'not noted'.repeat(1_000)}"}\n{"id":"sup_9`);
    await expectComplete(args());
  });

  test.each(['contracts.ndjson', 'solicitations.ndjson', 'solicitation-details.ndjson'])(
    'with a deleted or truncated %s is complete after the next run',
    async (name) => {
      await mirror(...args());
      rmSync(file(name));
      await expectComplete(args());
      truncateSync(file(name), Math.floor(statSync(file(name)).size / 2));
      await expectComplete(args());
    },
  );

  test('with a deleted file continues an interrupted listing that restores it', async () => {
    await mirror(...args());
    rmSync(file('suppliers.ndjson'));
    const killed = service.startMirror(...args());
    service.pages.disturb({ atRequest: 6, moment: 'before', act: () => killed.kill('SIGKILL') });
    await killed.ended;
    service.pages.disturb(null);
    const interruptedAt = service.pages.passed.at(-1)?.target ?? '';
    expect(interruptedAt).toMatch(/^\/v1\/suppliers\?.*cursor=/);
    service.pages.passed = [];
    await expectComplete(args());
    const requested = service.pages.passed.map(({ target }) => target).filter((it) => it.startsWith('/v1/suppliers'));
    expect(requested[0]).toBe(interruptedAt);
  });

  test('with a line that no mirror wrote is reported with its file, and complete once the file is deleted', async () => {
    await mirror(...args());
    const path = file('contracts.ndjson');
    writeFileSync(path, readFileSync(path, 'utf8').replace('\n{', '\nx'));
    const { code, stderr } = await mirror(...args(), '--reconcile');
    expect(stderr).toContain(`${path}: line 2 was not written by a mirror. Delete the file and run the mirror again`);
    expect(code).toBe(1);
    rmSync(path);
    await expectComplete(args());
  });

  test('is never created over other files, nor over its own without their state', async () => {
    mkdirSync(file(''), { recursive: true });
    writeFileSync(file('contracts.ndjson'), '{"id":"theirs"}\n');
    const refused = await mirror(...args());
    expect(refused.stderr).toContain('contains contracts.ndjson, but no state of a mirror');
    expect(refused.code).toBe(1);
    expect(readFileSync(file('contracts.ndjson'), 'utf8')).toBe('{"id":"theirs"}\n');
    rmSync(file('contracts.ndjson'));
    await expectComplete(args());
    rmSync(file('.mirror'), { recursive: true });
    expect((await mirror(...args())).stderr).toContain('but no state of a mirror');
  });

  test.each(['state.json', 'files.json'])('with an unreadable %s is reported with advice', async (name) => {
    await mirror(...args());
    for (const text of ['', '{', 'null']) {
      writeFileSync(file(`.mirror/${name}`), text);
      const { code, stderr } = await mirror(...args());
      expect(stderr).toMatch(
        new RegExp(`${name} was not written by a mirror. Start a new copy in another directory\n$`),
      );
      expect(code).toBe(1);
    }
  });

  test('that was interrupted before it recorded which details are due finds them again', async () => {
    await mirror(...args());
    await service.publish({ 'lead-entities': [{ id: 'le_0', name: 'Renamed' }] });
    await service.settle();
    // A directory in the way of the index file makes the run fail at exactly this point.
    mkdirSync(file('.mirror/details-index.ndjson.new'));
    const { code, stderr } = await mirror(...args(), '--reconcile');
    expect(stderr).toContain('details-index.ndjson.new');
    expect(code).toBe(1);
    rmSync(file('.mirror/details-index.ndjson.new'), { recursive: true });
    await expectComplete([...args(), '--reconcile']);
  });

  test('is not locked by a killed mirror that its parent has not reaped', async () => {
    const main = join(import.meta.dirname, '../../src/mirror/main.ts');
    const parent = spawn(
      'sh',
      ['-c', '"$@" & exec sleep 60', 'sh', process.execPath, main, ...args(), '--watch', '1h'],
      {
        env: { PATH: process.env['PATH'], PARTNER_DATA_URL: service.pages.url, PARTNER_DATA_KEY: service.key },
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    try {
      await once(parent.stdout, 'data');
      const { pid } = JSON.parse(readFileSync(file('.mirror/lock'), 'utf8')) as { pid: number };
      expect((await mirror(...args())).stderr).toContain('another mirror is using it');
      process.kill(pid, 'SIGKILL');
      while (!readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')) await new Promise(setImmediate);
      await expectComplete(args());
    } finally {
      parent.kill('SIGKILL');
      await once(parent, 'close');
    }
  });
});

test('a copy in SQLite is locked through every symbolic link to it', async () => {
  const first = service.startMirror(...storeOptions('sqlite', service.folder), '--watch', '1h');
  await first.printed('held');
  const link = join(service.folder, 'link.sqlite');
  symlinkSync(join(service.folder, 'copy.sqlite'), link);
  const { code, stderr } = await mirror('--sqlite', link);
  expect(stderr).toContain('another mirror is using it');
  expect(code).toBe(1);
  first.kill('SIGTERM');
  expect((await first.ended).code).toBe(0);
});

describe.each(STORES)('a mirror into %s', (type) => {
  const args = (): string[] => storeOptions(type, service.folder);

  test('restarts a listing once if its cursor is rejected', async () => {
    service.pages.spoilCursorAt = 8;
    const { code, stderr } = await mirror(...args());
    expect(code, stderr).toBe(0);
    expect(service.pages.passed.filter(({ status }) => status === 400)).toHaveLength(1);
    expect(readCopy(type, service.folder)).toEqual(await service.served());
  });
});

test('a mirror exits with 1 and one message if its standard output is closed', async () => {
  const watching = service.startMirror(...storeOptions('ndjson', service.folder), '--watch', '1s', '--json');
  await watching.printed('"ok":true');
  watching.closeOutput();
  const { code, stderr } = await watching.ended;
  expect(code).toBe(1);
  expect(stderr).toContain('could not be written to stdout');
  expect(stderr).not.toContain('    at ');
  expect((await mirror(...storeOptions('ndjson', service.folder))).code).toBe(0);
});

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
import { readCopy, STORES, storeWords } from './support/copies.ts';
import { firstCatalog } from './support/histories.ts';
import { MirroredService } from './support/mirrored-service.ts';

let service: MirroredService;
beforeEach(async () => {
  service = await MirroredService.start(firstCatalog(), { name: 'acme', everything: true });
});
afterEach(() => service.close());

const mirror = (...words: string[]) => service.startMirror(...words).ended;

/** Runs the mirror, and asserts that it succeeds and that the copy equals what the service returns. */
async function expectWhole(words: readonly string[]): Promise<void> {
  const { code, stderr } = await mirror(...words);
  expect(code, stderr).toBe(0);
  expect(readCopy('ndjson', service.folder)).toEqual(await service.served());
}

describe('a copy in NDJSON', () => {
  const words = (): string[] => storeWords('ndjson', service.folder);
  const file = (name: string): string => join(service.folder, 'copy', name);

  test('whose journal of details ends in half a line, as where the disk was full, goes on after the last whole one', async () => {
    await mirror(...words());
    const killed = service.startMirror(...words(), '--refresh', '0d');
    service.pages.disturb({ atRequest: 14, moment: 'after', act: () => killed.kill('SIGKILL') });
    await killed.ended;
    service.pages.disturb(null);
    const journal = file('.mirror/details-journal.ndjson');
    expect(readFileSync(journal, 'utf8').split('\n').length).toBeGreaterThan(2);
    appendFileSync(journal, '{"id":"sol_5","entry":{"etag":"half');
    const stopped = service.startMirror(...words(), '--refresh', '0d');
    service.pages.disturb({ atRequest: 16, moment: 'after', act: () => stopped.kill('SIGKILL') });
    await stopped.ended;
    service.pages.disturb(null);
    await expectWhole([...words(), '--refresh', '0d']);
  });

  test('whose walk ends in what was written and not noted goes on after the last page that was', async () => {
    const killed = service.startMirror(...words());
    service.pages.disturb({ atRequest: 9, moment: 'before', act: () => killed.kill('SIGKILL') });
    await killed.ended;
    service.pages.disturb(null);
    expect(service.pages.passed.at(-1)?.target).toMatch(/^\/v1\/suppliers\?.*cursor=/);
    const walk = file('.mirror/suppliers-walk.ndjson');
    expect(readFileSync(walk, 'utf8').split('\n').length).toBeGreaterThan(3);
    // Longer than the page that replaces it.
    appendFileSync(walk, `{"id":"sup_9","name":"${'not noted'.repeat(1_000)}"}\n{"id":"sup_9`);
    await expectWhole(words());
  });

  test.each(['contracts.ndjson', 'solicitations.ndjson', 'solicitation-details.ndjson'])(
    'whose file %s was taken away or cut is whole again after the next run',
    async (name) => {
      await mirror(...words());
      rmSync(file(name));
      await expectWhole(words());
      truncateSync(file(name), Math.floor(statSync(file(name)).size / 2));
      await expectWhole(words());
    },
  );

  test('whose file was taken away goes on with the walk that makes it anew, where that is killed', async () => {
    await mirror(...words());
    rmSync(file('suppliers.ndjson'));
    const killed = service.startMirror(...words());
    service.pages.disturb({ atRequest: 6, moment: 'before', act: () => killed.kill('SIGKILL') });
    await killed.ended;
    service.pages.disturb(null);
    const brokenOffAt = service.pages.passed.at(-1)?.target ?? '';
    expect(brokenOffAt).toMatch(/^\/v1\/suppliers\?.*cursor=/);
    service.pages.passed = [];
    await expectWhole(words());
    const asked = service.pages.passed.map(({ target }) => target).filter((it) => it.startsWith('/v1/suppliers'));
    expect(asked[0]).toBe(brokenOffAt);
  });

  test('with a line that no mirror wrote names it, and is whole again once the file is deleted', async () => {
    await mirror(...words());
    const path = file('contracts.ndjson');
    writeFileSync(path, readFileSync(path, 'utf8').replace('\n{', '\nx'));
    const { code, stderr } = await mirror(...words(), '--reconcile');
    expect(stderr).toContain(`${path}: line 2 is not what the mirror wrote: delete the file, and run it again`);
    expect(code).toBe(1);
    rmSync(path);
    await expectWhole(words());
  });

  test('is not made over files of others, nor over its own where nothing tells that they are', async () => {
    mkdirSync(file(''), { recursive: true });
    writeFileSync(file('contracts.ndjson'), '{"id":"theirs"}\n');
    const refused = await mirror(...words());
    expect(refused.stderr).toContain('holds contracts.ndjson, and nothing tells that a mirror wrote it');
    expect(refused.code).toBe(1);
    expect(readFileSync(file('contracts.ndjson'), 'utf8')).toBe('{"id":"theirs"}\n');
    rmSync(file('contracts.ndjson'));
    await expectWhole(words());
    rmSync(file('.mirror'), { recursive: true });
    expect((await mirror(...words())).stderr).toContain('nothing tells that a mirror wrote it');
  });

  test.each(['state.json', 'files.json'])('whose %s cannot be read says what to do', async (name) => {
    await mirror(...words());
    for (const text of ['', '{', 'null']) {
      writeFileSync(file(`.mirror/${name}`), text);
      const { code, stderr } = await mirror(...words());
      expect(stderr).toMatch(
        new RegExp(`${name} is not what a mirror wrote: begin a new copy in another directory\n$`),
      );
      expect(code).toBe(1);
    }
  });

  test('that was cut off before it noted which details are due finds them again', async () => {
    await mirror(...words());
    await service.publish({ 'lead-entities': [{ id: 'le_0', name: 'Renamed' }] });
    await service.settle();
    // A directory in the way of the index file makes the run fail at exactly this point.
    mkdirSync(file('.mirror/details-index.ndjson.new'));
    const { code, stderr } = await mirror(...words(), '--reconcile');
    expect(stderr).toContain('details-index.ndjson.new');
    expect(code).toBe(1);
    rmSync(file('.mirror/details-index.ndjson.new'), { recursive: true });
    await expectWhole([...words(), '--reconcile']);
  });

  test('is not held by a mirror that has ended, but whose parent has not asked for it', async () => {
    const main = join(import.meta.dirname, '../../src/mirror/main.ts');
    const parent = spawn(
      'sh',
      ['-c', '"$@" & exec sleep 60', 'sh', process.execPath, main, ...words(), '--watch', '1h'],
      {
        env: { PATH: process.env['PATH'], PARTNER_DATA_URL: service.pages.url, PARTNER_DATA_KEY: service.key },
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    try {
      await once(parent.stdout, 'data');
      const { pid } = JSON.parse(readFileSync(file('.mirror/lock'), 'utf8')) as { pid: number };
      expect((await mirror(...words())).stderr).toContain('another mirror is at work on it');
      process.kill(pid, 'SIGKILL');
      while (!readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')) await new Promise(setImmediate);
      await expectWhole(words());
    } finally {
      parent.kill('SIGKILL');
      await once(parent, 'close');
    }
  });
});

test('a copy in SQLite is one copy, whatever links lead to it', async () => {
  const first = service.startMirror(...storeWords('sqlite', service.folder), '--watch', '1h');
  await first.told('held');
  const link = join(service.folder, 'link.sqlite');
  symlinkSync(join(service.folder, 'copy.sqlite'), link);
  const { code, stderr } = await mirror('--sqlite', link);
  expect(stderr).toContain('another mirror is at work on it');
  expect(code).toBe(1);
  first.kill('SIGTERM');
  expect((await first.ended).code).toBe(0);
});

describe.each(STORES)('a mirror into %s', (type) => {
  const words = (): string[] => storeWords(type, service.folder);

  test('begins a walk anew whose cursor is refused, and only once', async () => {
    service.pages.spoilCursorAt = 8;
    const { code, stderr } = await mirror(...words());
    expect(code, stderr).toBe(0);
    expect(service.pages.passed.filter(({ status }) => status === 400)).toHaveLength(1);
    expect(readCopy(type, service.folder)).toEqual(await service.served());
  });
});

test('a mirror ends with 1 and one message where nobody reads what it tells', async () => {
  const watching = service.startMirror(...storeWords('ndjson', service.folder), '--watch', '1s', '--json');
  await watching.told('"ok":true');
  watching.closeOutput();
  const { code, stderr } = await watching.ended;
  expect(code).toBe(1);
  expect(stderr).toContain('could not be written to standard output');
  expect(stderr).not.toContain('    at ');
  expect((await mirror(...storeWords('ndjson', service.folder))).code).toBe(0);
});

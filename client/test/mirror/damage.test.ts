import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { supplier } from '../../../test/support/publishing.ts';
import { storeOptions } from './support/copies.ts';
import { mirroredServiceForEachTest } from './support/mirrored-service.ts';

const service = mirroredServiceForEachTest();

const mirror = (...args: string[]) => service.mirror(...args);
const expectComplete = (args: readonly string[]) => service.copied('ndjson', mirror(...args));

describe('a copy in NDJSON', () => {
  const args = (): string[] => storeOptions('ndjson', service.folder);
  const file = (name: string): string => join(service.folder, 'copy', name);

  test('with unrecorded lines in a partial listing, continues after the last recorded piece', async () => {
    await service.killAt(7, args());
    const listing = file('.mirror/received-contracts.ndjson');
    expect(readFileSync(listing, 'utf8').split('\n')).toHaveLength(11);
    // Longer than the piece that replaces it.
    appendFileSync(listing, `{"kind":"contracts","id":"ctr_9","record":"${'not noted'.repeat(1_000)}"}\n{"kind":`);
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
    const interruptedAt = (await service.killAt(6, args())).at(-1);
    service.intercept(null);
    await expectComplete(args());
    expect(service.targets.filter((target) => target.includes('cursor=')).slice(0, 2)).toContain(interruptedAt);
  });

  test('with a line that no mirror wrote is reported with its file, and complete once the file is deleted', async () => {
    await mirror(...args());
    const path = file('contracts.ndjson');
    writeFileSync(path, readFileSync(path, 'utf8').replace('\n{', '\nx'));
    await service.publish({ contracts: [{ id: 'ctr_1', deleted: true }] });
    const message = `${path}: line 2 was not written by a mirror. Delete the file and run the mirror again`;
    await service.refused(args(), message);
    rmSync(path);
    await expectComplete(args());
  });

  test('is never created over other files, nor over its own without their state', async () => {
    mkdirSync(file(''), { recursive: true });
    writeFileSync(file('contracts.ndjson'), '{"id":"theirs"}\n');
    await service.refused(args(), 'contains contracts.ndjson, but no state of a mirror');
    expect(readFileSync(file('contracts.ndjson'), 'utf8')).toBe('{"id":"theirs"}\n');
    rmSync(file('contracts.ndjson'));
    await expectComplete(args());
    rmSync(file('.mirror'), { recursive: true });
    await service.refused(args(), 'but no state of a mirror');
  });

  test('with an unreadable state is reported with advice', async () => {
    await mirror(...args());
    for (const text of ['', '{', 'null']) {
      writeFileSync(file('.mirror/state.json'), text);
      await service.refused(args(), 'state.json was not written by a mirror. Start a new copy in another directory\n');
    }
  });

  test.each(['contracts.ndjson.new', 'solicitation-details.ndjson.new', 'suppliers.ndjson.new'])(
    'that could not create %s reports each change once, and is complete after the next run',
    async (obstacle) => {
      await mirror(...args());
      await service.publish({
        contracts: [{ id: 'ctr_1', deleted: true }],
        solicitations: [{ id: 'sol_1', deleted: true }],
        // The contract ctr_9 shows its name.
        suppliers: [{ ...supplier('sup_1'), name: 'Renamed' }],
      });
      // A directory in the way makes the run fail at exactly this point.
      mkdirSync(file(obstacle));
      writeFileSync(join(file(obstacle), 'full'), '');
      await service.refused(args(), obstacle);
      rmSync(file(obstacle), { recursive: true });
      const { stdout } = await service.copied('ndjson', mirror(...args(), '--json'));
      const ids = [...stdout.matchAll(/^\{"kind":"[a-z]+","id":"(\w+)"/gm)].map(([, id]) => id);
      expect(ids).toEqual(['ctr_1', 'ctr_9', 'sol_1', 'sup_1']);
    },
  );

  test('is not locked by a killed mirror that its parent has not reaped', async () => {
    const main = join(import.meta.dirname, '../../src/mirror/main.ts');
    const parent = spawn(
      'sh',
      ['-c', '"$@" & exec sleep 60', 'sh', process.execPath, main, ...args(), '--watch', '1h'],
      {
        env: { PATH: process.env['PATH'], PARTNER_DATA_URL: service.proxy.url, PARTNER_DATA_KEY: service.key },
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    try {
      await once(parent.stdout, 'data');
      const [lock = ''] = readdirSync(file('.mirror')).filter((name) => name.startsWith('lock'));
      const pid = Number(lock.split('-')[1]);
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
  const first = service.startMirrorHere([...storeOptions('sqlite', service.folder), '--watch', '1h']);
  await first.printed('contracts 10 added');
  const link = join(service.folder, 'link.sqlite');
  symlinkSync(join(service.folder, 'copy.sqlite'), link);
  await service.refused(['--sqlite', link], 'another mirror is using it');
  first.stop();
  expect((await first.ended).code).toBe(0);
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

describe('links that others planted in a copy in NDJSON', () => {
  const args = (): string[] => storeOptions('ndjson', service.folder);
  const copy = (): string => join(service.folder, 'copy');
  const victim = (): string => join(service.folder, 'victim');

  /** Makes each of them a link to a file that the mirror must not change. */
  function plant(names: readonly string[]): void {
    writeFileSync(victim(), 'precious');
    for (const name of names) {
      rmSync(join(copy(), name), { force: true });
      symlinkSync(victim(), join(copy(), name));
    }
  }

  beforeEach(async () => {
    await mirror(...args());
    await service.publish({ contracts: [{ id: 'ctr_1', deleted: true }] });
  });

  test('in place of files that it creates are removed', async () => {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const startedAt = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    const lock = `.mirror/lock-${process.pid}-${startedAt}`;
    plant(['contracts.ndjson.new', 'solicitation-details.ndjson.new', '.mirror/state.json.new', lock]);
    await expectComplete(args());
    expect(readFileSync(victim(), 'utf8')).toBe('precious');
  });

  test.each(['received-contracts.ndjson', 'unreported.ndjson'])(
    'in place of %s, which it appends to, are reported',
    async (name) => {
      plant([`.mirror/${name}`]);
      await service.refused(args(), `.mirror/${name} is a symbolic link. Remove it\n`);
      expect(readFileSync(victim(), 'utf8')).toBe('precious');
      rmSync(join(copy(), '.mirror', name));
      await expectComplete(args());
    },
  );

  test('in place of its folder are reported', async () => {
    const elsewhere = join(service.folder, 'elsewhere');
    mkdirSync(elsewhere);
    rmSync(copy(), { recursive: true });
    mkdirSync(copy());
    symlinkSync(elsewhere, join(copy(), '.mirror'));
    await service.refused(args(), '.mirror is a symbolic link. Remove it, or choose another directory\n');
    expect(readdirSync(elsewhere)).toEqual([]);
  });
});

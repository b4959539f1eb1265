import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { text } from 'node:stream/consumers';
import { createGzip, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { MAIN } from '../commands/run-pds.ts';
import { databaseForAllTests } from '../support/database.ts';
import { newFolder } from '../support/new-folder.ts';
import { solicitation } from '../support/publishing.ts';

/** The maximum memory of an import. Half of it is Node's own at start, and garbage not yet collected. */
const MAX_MEMORY_MIB = 1_400;

const MIB = 1024 * 1024;

/** More than the harmless 64 MiB, but little enough for the tests to be fast. */
const ARCHIVE_MIB = 80;

const COOP = JSON.stringify({ id: 'co_1', name: 'Coop' });

const folder = newFolder();

const made = databaseForAllTests();

/** A new directory to import. */
function directory(): string {
  return mkdtempSync(join(folder, 'import-'));
}

interface ImportOutcome {
  code: number;
  problems: { file: string; line: number | null; field: string; reason: string }[];
  peakMib: number;
  output: string;
}

/** Runs `pds import` in a separate process, and measures its memory. */
async function importIn(path: string): Promise<ImportOutcome> {
  const child = spawn(process.execPath, [MAIN, 'import', path, '--json'], {
    env: { PATH: process.env['PATH'], ...made.settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let peakMib = 0;
  const watch = setInterval(() => (peakMib = Math.max(peakMib, peakOf(child.pid))), 20);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number]>,
  ]);
  clearInterval(watch);
  const { error } = JSON.parse(stdout) as { error?: { problems?: ImportOutcome['problems'] } };
  return { code, problems: error?.problems ?? [], peakMib, output: stdout + stderr };
}

/** The peak resident memory of a process in MiB; 0 if it has exited. */
function peakOf(pid: number | undefined): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid ?? 0}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

async function writeGzip(path: string, part: Buffer, times: number): Promise<void> {
  const parts = Readable.from(
    (function* () {
      for (let time = 0; time < times; time += 1) yield part;
    })(),
  );
  await pipeline(parts, createGzip(), createWriteStream(path));
}

test.each([
  ['one endless line', Buffer.alloc(MIB, 'x'), /line 1 is longer than 8 MiB/],
  ['empty lines only', Buffer.alloc(MIB, '\n'), /unpacks to more than 250 times its size/],
  ['lines of the maximum length', Buffer.from(`{"id":"${'x'.repeat(7 * MIB)}"}\n`), /unpacks to more than/],
  ['millions of lines', Buffer.from('{"id":"co_1"}\n'.repeat(70_000)), /unpacks to more than/],
])(
  'an archive of %s is refused in bounded memory',
  async (_case, part, reason) => {
    const path = directory();
    await writeGzip(join(path, 'suppliers.ndjson.gz'), part, Math.ceil((ARCHIVE_MIB * MIB) / part.length));
    const { code, problems, peakMib, output } = await importIn(path);
    expect(code, output).toBe(1);
    expect(problems).toEqual([
      { file: 'suppliers.ndjson.gz', line: null, field: '', reason: expect.stringMatching(reason) as string },
    ]);
    expect(peakMib).toBeGreaterThan(30);
    expect(peakMib).toBeLessThan(MAX_MEMORY_MIB);
  },
  120_000,
);

test.each([
  ['invalid in a million places', `{"id":"sol_wrong","nigp_codes":[${'0,'.repeat(1_000_000)}0]}`],
  ['nested a million levels deep', `{"id":"sol_wrong","x":${'['.repeat(1_000_000)}"\\u0000"${']'.repeat(1_000_000)}}`],
  ['full of empty objects', `{"id":"sol_wrong","x":[${'{},'.repeat(690_000)}{}]}`],
])(
  'a line of 2 MB that is %s is refused, alone or among 5,000 others',
  async (_case, line) => {
    for (const others of [0, 5_000]) {
      const path = directory();
      const lines = Array.from({ length: others }, (_, index) =>
        JSON.stringify(solicitation(`sol_${index}`, index + 1)),
      );
      writeFileSync(join(path, 'solicitations.ndjson'), [line, ...lines].join('\n'));
      const { code, problems, peakMib, output } = await importIn(path);
      expect(code, output.slice(0, 2_000)).toBe(1);
      expect(problems[0]).toMatchObject({ file: 'solicitations.ndjson', line: 1 });
      expect(problems[0]?.reason).not.toContain('bytes long');
      expect(output.length).toBeLessThan(100_000);
      expect(peakMib).toBeLessThan(MAX_MEMORY_MIB);
    }
  },
  240_000,
);

test('anything but a regular file within the directory is refused: links out of it, dangling links, pipes, folders', async () => {
  const outside = join(folder, 'secret.txt');
  writeFileSync(outside, 'root:x:0:0:the secret\n');
  const fifo = join(directory(), 'coops.ndjson');
  await once(spawn('mkfifo', [fifo]), 'exit');
  const made: [(path: string) => void, RegExp][] = [
    [(path) => symlinkSync(outside, path), /links must not lead out/],
    [(path) => symlinkSync('../secret.txt', path), /links must not lead out/],
    [(path) => symlinkSync('/dev/zero', path), /links must not lead out/],
    [(path) => symlinkSync('nowhere', path), /ENOENT/],
    [(path) => symlinkSync('coops.ndjson', path), /ELOOP/],
    [(path) => mkdirSync(path), /is not a regular file/],
    [(path) => renameSync(fifo, path), /is not a regular file/],
  ];
  for (const [make, reason] of made) {
    const path = directory();
    make(join(path, 'coops.ndjson'));
    const { code, problems, output } = await importIn(path);
    expect(code).toBe(1);
    expect(problems).toEqual([
      { file: 'coops.ndjson', line: null, field: '', reason: expect.stringMatching(reason) as string },
    ]);
    expect(output).not.toContain('the secret');
  }
}, 60_000);

test('a link within the directory, and a link to the directory, are followed', async () => {
  const path = directory();
  mkdirSync(join(path, '..data'));
  writeFileSync(join(path, '..data', 'coops.ndjson'), `${COOP}\n`);
  symlinkSync(join('..data', 'coops.ndjson'), join(path, 'coops.ndjson'));
  const link = join(folder, 'current');
  symlinkSync(path, link);
  expect(await importIn(link)).toMatchObject({ code: 0, problems: [] });
});

test('an ordinary archive of similar records is accepted', async () => {
  const path = directory();
  const records = Array.from({ length: 20_000 }, (_, index) => JSON.stringify({ id: `cs_${index}`, name: 'Paving' }));
  writeFileSync(join(path, 'city-services.ndjson.gz'), gzipSync(records.join('\n')));
  expect(await importIn(path)).toMatchObject({ code: 0, problems: [] });
}, 60_000);

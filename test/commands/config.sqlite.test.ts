import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runPdsThrough, type Outcome } from './run-pds.ts';

/** Many processes, on a busy machine. */
const SLOW = { timeout: 120_000 };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pds-config-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Runs `pds` in the folder. */
const pds = (words: readonly string[], settings: Record<string, string> = {}): Promise<Outcome> =>
  runPdsThrough(['env', '-C', folder], words, settings);

const write = (name: string, ...lines: string[]): void =>
  writeFileSync(join(folder, name), lines.join('\n'), { mode: 0o600 });

interface Shown {
  ok: boolean;
  file: string | null;
  settings: { name: string; value: string | null; from: string; line: number | null; problem: string | null }[];
}

async function readShown(words: readonly string[], settings: Record<string, string> = {}): Promise<Shown> {
  return JSON.parse((await pds([...words, '--json'], settings)).stdout) as Shown;
}

/** The sources of a setting, besides its default. */
const places = fc.subarray(['file', 'environment', 'option']);
const NAMES = ['PDS_PORT', 'PDS_HOST', 'PDS_ADMIN_PORT', 'PDS_LOG_LEVEL', 'PDS_USAGE_RETENTION_DAYS'];
const VALUES: Readonly<Record<string, readonly string[]>> = {
  PDS_HOST: ['127.0.0.1', 'a', 'b', 'c'],
  PDS_LOG_LEVEL: ['info', 'warn', 'error', 'fatal'],
  PDS_PORT: ['8080', '1', '2', '3'],
  PDS_ADMIN_PORT: ['8081', '1', '2', '3'],
  PDS_USAGE_RETENTION_DAYS: ['400', '1', '2', '3'],
};
const ORDER = ['default', 'file', 'environment', 'option'];

test('options override the environment, which overrides the file, which overrides the defaults', SLOW, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(places, { minLength: 5, maxLength: 5 }), fc.boolean(), async (sets, isGiven) => {
      const lines: string[] = [];
      const environment: Record<string, string> = {};
      const options: string[] = [];
      const expected = NAMES.map((name, index) => {
        const option = { PDS_PORT: '--port', PDS_ADMIN_PORT: '--admin-port', PDS_HOST: '--host' }[name];
        const used = (sets[index] ?? []).filter((place) => place !== 'option' || option !== undefined);
        const valueAt = (place: string): string => VALUES[name]?.[ORDER.indexOf(place)] ?? '';
        if (used.includes('file')) lines.push(`${name}=${valueAt('file')}`);
        if (used.includes('environment')) environment[name] = valueAt('environment');
        if (used.includes('option')) options.push(option ?? '', valueAt('option'));
        const from = ORDER.findLast((place) => place === 'default' || used.includes(place)) ?? '';
        const line = from === 'file' ? lines.length : null;
        return { name, value: valueAt(from), from, line };
      });
      write(isGiven ? 'given' : '.env', ...lines);
      // Not read if another file is named.
      if (isGiven) write('.env', 'PDS_PROT=1');
      const words = [...(isGiven ? ['--config', 'given'] : []), 'config', ...options];
      const { ok, file, settings } = await readShown(words, environment);
      expect({ ok, file }).toEqual({ ok: true, file: join(folder, isGiven ? 'given' : '.env') });
      const shown = settings.filter(({ name }) => NAMES.includes(name));
      expect(shown.map(({ name, value, from, line }) => ({ name, value, from, line }))).toEqual(
        expect.arrayContaining(expected),
      );
    }),
    { numRuns: 8 },
  );
});

test('pds config shows every setting aligned, marks the invalid ones, and hides all passwords', async () => {
  write(
    '.env',
    "PDS_DATABASE_URL='postgres://me:sesame@127.0.0.1:1/pds?pgbouncer=true&password=sesame'",
    "PDS_REPLICA_URLS='postgres://me:sesame@h/d,postgres://me:sesame@i/d'",
    'OTEL_EXPORTER_OTLP_HEADERS=key=sesame',
  );
  const settings = { PDS_REDIS_URL: 'redis://sesame@h', PDS_PORT: '80800', PDS_PUBLIC_URL: 'https://u:sesame@h/' };
  const { code, stdout, stderr } = await pds(['config'], { ...settings, PDS_PASSWORD: 'sesame' });
  expect(code).toBe(1);
  expect(stderr).toBe('error: settings marked with <-- are invalid. Correct each where it is set\n');
  expect(stdout + JSON.stringify(await readShown(['config'], settings))).not.toContain('sesame');
  const lines = stdout.split('\n');
  const column = lines[0]?.indexOf('VALUE') ?? -1;
  for (const line of lines.slice(0, -1)) expect(line.slice(column - 2, column + 1)).toMatch(/^ {2}\S$/);
  expect(stdout).toMatch(/^PDS_PORT +environment +80800 {2}<-- must be a whole number from 0 to 65535$/m);
  expect(stdout).toMatch(/^PDS_PUBLIC_URL +environment +\*\*\* {2}<-- must be https:/m);
  expect(stdout).toMatch(/^PDS_PASSWORD +environment +\*\*\* {2}<-- is not a known setting/m);
  expect(stdout).toMatch(/^PDS_REDIS_URL +environment +redis:\/\/\*\*\*@h$/m);
  expect(stdout).toContain(`${folder}/.env:1  postgres://me:***@127.0.0.1:1/pds?pgbouncer=true&password=***\n`);
  expect(stdout).toContain('postgres://me:***@h/d,postgres://me:***@i/d\n');
  expect(stdout).toMatch(/^PDS_LOG_LEVEL +default +info$/m);
  expect(readdirSync(folder)).toEqual(['.env']);
});

describe('an error about a setting names its place:', () => {
  test('file and line, or the environment', async () => {
    write('.env', '# settings', 'PDS_PORT=x', 'PDS_PROT=1', 'PDS_ADMIN_PORT=y');
    const { code, stderr } = await pds(['partner', 'list'], { PDS_ADMIN_PORT: 'z' });
    expect(code).toBe(1);
    expect(stderr.trimEnd().split('\n')).toEqual([
      `error: PDS_PORT must be a whole number from 0 to 65535. It is set in ${folder}/.env:2`,
      'PDS_ADMIN_PORT must be a whole number from 0 to 65535. It is set in the environment',
      expect.stringMatching(`^PDS_PROT is not a known setting.* It is set in ${folder}/.env:3$`),
    ]);
  });

  test('an option', async () => {
    const { stderr } = await pds(['serve', '--host', ''], { PDS_HOST: '127.0.0.1' });
    expect(stderr).toBe('error: PDS_HOST must be a host name or IP address. It is set by an option\n');
  });
});

describe('a settings file that cannot be used is an error of every command:', () => {
  test('each line that cannot be read is named', async () => {
    write('.env', 'PDS_PORT=1', 'PDS_HOST: sesame', "PDS_LOG_LEVEL='info");
    const { code, stdout, stderr } = await pds(['check']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      new RegExp(`^error: ${folder}/.env:2: expected NAME=.*\n${folder}/.env:3: expected NAME=.* quote closed`),
    );
    expect(stderr).not.toContain('sesame');
  });

  test.each(['--config none config', 'config --config=none', 'partner list --config none'])(
    'pds %s, if the file does not exist',
    async (line) => {
      const { code, stderr } = await pds(line.split(' '));
      expect(code).toBe(1);
      expect(stderr).toBe(
        `error: the settings file ${folder}/none cannot be read: ENOENT: no such file or directory, open '${folder}/none'. ` +
          'Correct --config, or the permissions of the file\n',
      );
    },
  );
});

test('a folder named .env, and variables of other programs, are ignored', async () => {
  mkdirSync(join(folder, '.env'));
  expect(await readShown(['config'])).toMatchObject({ ok: true, file: null });
  rmSync(join(folder, '.env'), { recursive: true });
  write('.env', 'export SHOP_KEY="-----BEGIN', 'PDS: x', '-----END"', 'DATABASE_URL=postgres://h/d # shop');
  const { ok, settings } = await readShown(['config']);
  expect(ok).toBe(true);
  expect(settings.filter(({ from }) => from !== 'default')).toEqual([]);
});

describe('a .env that another user could have written is refused, and named:', { timeout: 60_000 }, () => {
  const NOBODY = 65_534;
  const url = "PDS_DATABASE_URL='sqlite:planted.sqlite'";

  test.each([
    ['its group can write it', (file: string) => chmodSync(file, 0o664), 'can be written by other users'],
    ['everyone can write it', (file: string) => chmodSync(file, 0o646), 'can be written by other users'],
    ['it is a symbolic link', replaceByLink, 'is a symbolic link'],
  ])('%s', async (_, change, problem) => {
    write('.env', url);
    change(join(folder, '.env'));
    await expectRefused(problem);
  });

  // Only root can give a file away.
  test.skipIf(process.geteuid?.() !== 0)('it belongs to another user', async () => {
    write('.env', url);
    chownSync(join(folder, '.env'), NOBODY, NOBODY);
    await expectRefused(`belongs to another user (${NOBODY})`);
    const { PDS_DATABASE_URL: set } = Object.fromEntries(
      (await readShown(['--config', '.env', 'config'])).settings.map(({ name, value }) => [name, value]),
    );
    expect(set).toBe('sqlite:planted.sqlite');
  });

  function replaceByLink(file: string): void {
    renameSync(file, join(folder, 'target'));
    symlinkSync('target', file);
  }

  async function expectRefused(problem: string): Promise<void> {
    const file = join(folder, '.env');
    for (const words of ['partner list', 'check', 'serve']) {
      expect(await pds(words.split(' '))).toEqual({
        code: 1,
        stdout: '',
        stderr:
          `error: the settings file ${file} ${problem}, so it was not read. If you trust it, name it: ` +
          `--config ${file}. To run without it: --config /dev/null\n`,
      });
    }
    expect(await readShown(['--config', '/dev/null', 'config'])).toMatchObject({ ok: true });
  }
});

test('the last --config wins', async () => {
  write('first', 'PDS_PORT=1');
  write('second', 'PDS_PORT=2');
  const { settings } = await readShown(['--config', 'first', 'config', '--config', 'second']);
  expect(settings.find(({ name }) => name === 'PDS_PORT')).toMatchObject({ value: '2', from: 'file', line: 1 });
});

test('pds check warns if every user can read a settings file that holds a password, and only then', async () => {
  const warning = 'every user of this machine can read';
  const settings = { PDS_DATABASE_URL: 'sqlite:none.sqlite' };
  write('.env', "PDS_REDIS_URL='redis://:sesame@127.0.0.1:1'");
  chmodSync(join(folder, '.env'), 0o644);
  const { stdout } = await pds(['check'], { ...settings, PDS_REDIS_URL: '' });
  expect(stdout).toContain(`WARN  settings: ${warning} ${folder}/.env, which holds a password (PDS_REDIS_URL)\n`);
  expect(stdout).not.toContain('sesame');
  chmodSync(join(folder, '.env'), 0o640);
  expect((await pds(['check'], { ...settings, PDS_REDIS_URL: '' })).stdout).not.toContain(warning);
  write('.env', 'PDS_REDIS_URL=redis://127.0.0.1:1');
  chmodSync(join(folder, '.env'), 0o644);
  expect((await pds(['check'], { ...settings, PDS_REDIS_URL: '' })).stdout).not.toContain(warning);
});

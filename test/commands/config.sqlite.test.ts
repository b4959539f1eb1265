import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { newFolder } from '../support/new-folder.ts';
import { SOURCE_MAIN } from '../support/schema/later-version.ts';
import { runPdsOf, runPdsThrough, type Outcome } from './run-pds.ts';

/** Many processes, on a busy machine. */
const SLOW = { timeout: 120_000 };

let folder: string;
beforeEach(() => {
  folder = newFolder();
});

/** Runs `pds` in the folder. */
const pds = (words: readonly string[], settings: Record<string, string> = {}): Promise<Outcome> =>
  runPdsThrough(['env', '-C', folder], words, settings);

const write = (name: string, ...lines: string[]): void =>
  writeFileSync(join(folder, name), lines.join('\n'), { mode: 0o600 });

interface ShownSetting {
  ok: boolean;
  file: string | null;
  settings: { name: string; value: string | null; from: string; file: string | null; problem: string | null }[];
}

async function readShown(words: readonly string[], settings: Record<string, string> = {}): Promise<ShownSetting> {
  return JSON.parse((await pds([...words, '--json'], settings)).stdout) as ShownSetting;
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
    fc.asyncProperty(fc.array(places, { minLength: 5, maxLength: 5 }), async (sets) => {
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
        return {
          name,
          value: valueAt(from),
          from,
          file: from === 'file' ? join(folder, 'given') : null,
          problem: null,
        };
      });
      write('given', ...lines);
      // Not read if another file is named.
      write('.env', 'PDS_PROT=1');
      const { ok, file, settings } = await readShown(['--config', 'given', 'config', ...options], environment);
      expect({ ok, file }).toEqual({ ok: true, file: join(folder, 'given') });
      expect(settings.filter(({ name }) => NAMES.includes(name))).toEqual(expect.arrayContaining(expected));
    }),
    { numRuns: 8 },
  );
});

test('pds config shows every setting aligned, marks the invalid ones, and hides all passwords', async () => {
  write('given', "PDS_DATABASE_URL='postgres://me:sesame@127.0.0.1:1/pds?pgbouncer=true&password=sesame'");
  write('secret', 'postgres://me:sesame@h/d');
  const settings = {
    PDS_REDIS_URL: 'redis://sesame@h',
    PDS_REPLICA_URL_FILE: 'secret',
    PDS_PORT: '80800',
    PDS_PUBLIC_URL: 'https://u:sesame@h/',
    PDS_PASSWORD: 'sesame',
  };
  const words = ['config', '--config', 'given'];
  const { code, stdout, stderr } = await pds(words, settings);
  expect(code).toBe(1);
  expect(stderr).toBe('error: settings marked with <-- are invalid. Correct each where it is set\n');
  expect(stdout + JSON.stringify(await readShown(words, settings))).not.toContain('sesame');
  const lines = stdout.split('\n');
  const column = lines[0]?.indexOf('VALUE') ?? -1;
  for (const line of lines.slice(0, -1)) expect(line.slice(column - 2, column + 1)).toMatch(/^ {2}\S$/);
  expect(stdout).toMatch(/^PDS_PORT +environment +80800 {2}<-- must be a whole number from 0 to 65535$/m);
  expect(stdout).toMatch(/^PDS_PUBLIC_URL +environment +https:\/\/u:\*\*\*@h\/ {2}<-- must be https:/m);
  expect(stdout).toMatch(/^PDS_PASSWORD +environment +\*\*\* {2}<-- is not a known setting/m);
  expect(stdout).toMatch(/^PDS_REDIS_URL +environment +redis:\/\/\*\*\*@h$/m);
  expect(stdout).toContain(`${folder}/given  postgres://me:***@127.0.0.1:1/pds?pgbouncer=true&password=***\n`);
  expect(stdout).toMatch(/^PDS_REPLICA_URL +secret +postgres:\/\/me:\*\*\*@h\/d$/m);
  expect(stdout).toMatch(/^PDS_LOG_LEVEL +default +info$/m);
  expect(readdirSync(folder)).toEqual(['given', 'secret']);
});

describe('an error about a setting names its place:', () => {
  test('the file, or the environment', async () => {
    write('given', '# settings', 'PDS_PORT=x', 'PDS_PROT=1', 'PDS_ADMIN_PORT=y');
    const { code, stderr } = await pds(['partner', 'list', '--config', 'given'], { PDS_ADMIN_PORT: 'z' });
    expect(code).toBe(1);
    expect(stderr.trimEnd().split('\n')).toEqual([
      `error: PDS_PORT must be a whole number from 0 to 65535. It is set in ${folder}/given`,
      'PDS_ADMIN_PORT must be a whole number from 0 to 65535. It is set in the environment',
      expect.stringMatching(`^PDS_PROT is not a known setting.* It is set in ${folder}/given$`),
    ]);
  });

  test('an option', async () => {
    const { stderr } = await pds(['serve', '--host', ''], { PDS_HOST: '127.0.0.1' });
    expect(stderr).toBe('error: PDS_HOST must be a host name or IP address. It is set by an option\n');
  });
});

test.each(['--config none config', 'config --config=none', 'partner list --config none', 'check --config none'])(
  'pds %s is refused if the settings file does not exist',
  async (line) => {
    expect(await pds(line.split(' '))).toEqual({
      code: 1,
      stdout: '',
      stderr:
        `error: the settings file ${folder}/none cannot be read: ENOENT: no such file or directory, open '${folder}/none'. ` +
        'Correct --config, or the permissions of the file\n',
    });
  },
);

describe('a .env that earlier versions would have read', () => {
  test('is refused unless it is named, or another file is', async () => {
    write('.env', 'PDS_PORT=1');
    for (const words of ['partner list', 'check', 'serve']) {
      expect(await pds(words.split(' '))).toEqual({
        code: 1,
        stdout: '',
        stderr:
          'error: since version 2.0, .env is not read unless it is named: --config .env. To run without it: --config /dev/null\n',
      });
    }
    expect(await readShown(['--config', '/dev/null', 'config'])).toMatchObject({ ok: true });
    const { settings } = await readShown(['--config', '.env', 'config']);
    expect(settings.find(({ name }) => name === 'PDS_PORT')).toMatchObject({ value: '1', from: 'file' });
  });

  test('does not matter if it sets nothing here, another program has read it, or it is a folder', async () => {
    write('.env', 'export SHOP_KEY="-----BEGIN', 'PDS: x', '-----END"', 'DATABASE_URL=postgres://h/d # shop');
    expect(await readShown(['config'])).toMatchObject({ ok: true, file: null });
    write('.env', 'PDS_PORT=1');
    expect(await readShown(['config'], { PDS_PORT: '2' })).toMatchObject({ ok: true, file: null });
    rmSync(join(folder, '.env'));
    mkdirSync(join(folder, '.env'));
    expect(await readShown(['config'])).toMatchObject({ ok: true, file: null });
  });
});

test('the last --config wins', async () => {
  write('first', 'PDS_PORT=1');
  write('second', 'PDS_PORT=2');
  const { settings } = await readShown(['--config', 'first', 'config', '--config', 'second']);
  expect(settings.find(({ name }) => name === 'PDS_PORT')).toMatchObject({ value: '2', file: join(folder, 'second') });
});

test('pds check warns if every user can read a settings file that holds a password, and only then', async () => {
  const warning = 'every user of this machine can read';
  const check = async (): Promise<string> =>
    (await pds(['check', '--config', 'given'], { PDS_DATABASE_URL: 'sqlite:none.sqlite' })).stdout;
  write('given', "PDS_REDIS_URL='redis://:sesame@127.0.0.1:1'");
  chmodSync(join(folder, 'given'), 0o644);
  const stdout = await check();
  expect(stdout).toContain(`WARN  settings: ${warning} ${folder}/given, which holds a password (PDS_REDIS_URL)\n`);
  expect(stdout).not.toContain('sesame');
  chmodSync(join(folder, 'given'), 0o640);
  expect(await check()).not.toContain(warning);
  write('given', 'PDS_REDIS_URL=redis://127.0.0.1:1');
  chmodSync(join(folder, 'given'), 0o644);
  expect(await check()).not.toContain(warning);
});

/** Lists the packages that a process has loaded, on stderr. */
const LISTS_PACKAGES = `
  import { registerHooks } from 'node:module';
  const packages = new Set();
  registerHooks({
    load: (url, context, next) => {
      packages.add(url.split('/node_modules/')[1]?.split('/')[0]);
      return next(url, context);
    },
  });
  process.once('exit', () => process.stderr.write('loaded: ' + [...packages].join(' ')));
`;

test('a command that needs no database does not load what accesses it', async () => {
  const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(LISTS_PACKAGES)}`;
  const settings = { NODE_OPTIONS, PDS_DATABASE_URL: `sqlite:${join(folder, 'pds.sqlite')}` };
  const loadedBy = async (...words: string[]): Promise<string[]> => {
    const { stderr } = await runPdsOf(SOURCE_MAIN, words, settings);
    return (stderr.split('loaded: ')[1] ?? '')
      .split(' ')
      .filter((name) => ['commander', 'kysely', 'pg'].includes(name));
  };
  expect(await loadedBy('partner', 'list')).toEqual(['commander', 'kysely', 'pg']);
  expect(await loadedBy('config')).toEqual(['commander']);
  expect(await loadedBy('convert', 'csv', '--sketch', join(folder, 'missing.csv'))).toEqual(['commander']);
});

test('commands work on the database that the settings file names, or a file that it names', async () => {
  await using made = await createTestDatabase();
  write('given', `PDS_DATABASE_URL='${made.settings.PDS_DATABASE_URL}'`);
  expect(await pds(['--config', 'given', 'partner', 'create', 'acme', '--everything'])).toMatchObject({ code: 0 });
  write('given', `PDS_DATABASE_URL_FILE='${join(folder, 'secret')}'`);
  write('secret', made.settings.PDS_DATABASE_URL, '');
  const { code, stdout } = await pds(['--config', 'given', 'partner', 'list', '--json']);
  expect(code).toBe(0);
  expect(stdout).toContain('"acme"');
  const partners = await made.database.kysely.selectFrom('access.partners').select('name').execute();
  expect(partners).toEqual([{ name: 'acme' }]);
});

test('pds check reads a settings file that is a pipe once', SLOW, async () => {
  await using made = await createTestDatabase();
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  // Ends a command that waits for the pipe to be written again.
  const [checked] = await Promise.all([
    runPdsThrough(['timeout', '60'], ['check', '--config', pipe, '--json'], {}),
    writeFile(pipe, `PDS_DATABASE_URL='${made.settings.PDS_DATABASE_URL}'\n`),
  ]);
  expect(checked).toMatchObject({ code: 0 });
});

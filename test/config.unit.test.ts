import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ConfigError, readConfig } from '../src/config.ts';
import { newFolder } from './support/new-folder.ts';

test('the default settings are for development: a SQLite file, reachable from this machine only', () => {
  expect(readConfig({ PATH: '/bin' })).toEqual({
    environment: 'dev',
    database: { engine: 'sqlite', path: 'data/pds.sqlite' },
    replicaUrl: null,
    redisUrl: null,
    host: '127.0.0.1',
    port: 8080,
    reusePort: false,
    publicUrl: null,
    adminHost: '127.0.0.1',
    adminPort: 8081,
    requestsPerMinute: 600,
    trustedProxies: [],
    logLevel: 'info',
    usageRetentionDays: 400,
    auditRetentionDays: 1830,
    removalsDays: 90,
    keepReleases: 2,
  });
});

test('all invalid settings are reported at once, by name and without their values', () => {
  const settings = {
    PDS_PORT: '0x50',
    PDS_DATABASE_URL: 'mysql://u:hunter2@db',
    PDS_ENVIRONMENT: 'prod',
    PDS_PROT: '1',
  };
  const problems = (): unknown => {
    try {
      return readConfig(settings);
    } catch (error) {
      return error;
    }
  };
  const error = problems() as ConfigError;
  expect(error).toBeInstanceOf(ConfigError);
  expect(error.message.split('\n').map((line) => line.split(' ')[0])).toEqual([
    'PDS_ENVIRONMENT',
    'PDS_DATABASE_URL',
    'PDS_PORT',
    'PDS_PROT',
  ]);
  expect(error.message).not.toContain('hunter2');
});

test.each([
  ['sqlite:data/x.sqlite', { engine: 'sqlite', path: 'data/x.sqlite' }],
  ['sqlite:/var/x.sqlite', { engine: 'sqlite', path: '/var/x.sqlite' }],
  ['sqlite:///var/x.sqlite', { engine: 'sqlite', path: '/var/x.sqlite' }],
  ['postgres://u@h/d', { engine: 'postgres', url: 'postgres://u@h/d' }],
])('PDS_DATABASE_URL can be %s', (url, database) => {
  expect(readConfig({ PDS_DATABASE_URL: url }).database).toEqual(database);
});

test.each([
  ['PDS_DATABASE_URL', 'sqlite::memory:'],
  ['PDS_DATABASE_URL', 'sqlite:'],
  ['PDS_DATABASE_URL', ''],
  ['PDS_PORT', '65536'],
  ['PDS_REUSE_PORT', 'yes'],
  ['PDS_REQUESTS_PER_MINUTE', '0'],
  ['PDS_TRUSTED_PROXIES', '10.0.0.0/33'],
  ['PDS_TRUSTED_PROXIES', 'everyone'],
  ['PDS_LOG_LEVEL', 'loud'],
  ['PDS_REDIS_URL', 'localhost:6379'],
  ['PDS_REDIS_URL', 'redis:///0'],
  ['PDS_REDIS_URL', 'redis://h/zero'],
  ['PDS_REDIS_URL', 'redis://:p%ffw@h'],
  ['PDS_REDIS_URL', 'redis://h?tls=true'],
  ['PDS_REDIS_URL', 'redis+sentinel://a,b'],
  ['PDS_REDIS_URL', 'redis+sentinel://a:1,b:2/pds'],
  ['PDS_DATABASE_URL', 'postgres://h/d?sslmode=require'],
  ['PDS_DATABASE_URL', 'postgres://h/d?sslmode=no-verify'],
  ['PDS_DATABASE_URL', 'postgres://h/d?sslmode=prefer'],
  ['PDS_DATABASE_URL', 'postgres://h/d?ssl=no-verify'],
  ['PDS_DATABASE_URL', 'postgres://h/d?sslmode=verify-full&ssl=no-verify'],
  ['PDS_REPLICA_URL', 'postgres://h/d'], // beside SQLite
  ['PDS_REPLICA_URL', 'sqlite:x'],
  ['PDS_REPLICA_URL', 'postgres://h/d,postgres://i/d'],
  ['PDS_PUBLIC_URL', 'api.example.com'],
  ['PDS_PUBLIC_URL', 'ftp://api.example.com'],
  ['PDS_PUBLIC_URL', 'https://api.example.com/partners'],
  ['PDS_PUBLIC_URL', 'https://user:hunter2@api.example.com'],
  ['PDS_PUBLIC_URL', 'https://api.example.com?x=1'],
])('%s is rejected with the value %j', (name, value) => {
  expect(() => readConfig({ [name]: value })).toThrow(name);
});

test.each([
  ['https://api.example.com', 'https://api.example.com'],
  ['https://API.example.com/', 'https://api.example.com'],
  ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
])('PDS_PUBLIC_URL can be %s', (url, publicUrl) => {
  expect(readConfig({ PDS_PUBLIC_URL: url }).publicUrl).toBe(publicUrl);
});

test('a removed setting is refused, and its replacement named', () => {
  const settings = { PDS_DATABASE_URL: 'postgres://h/d', PDS_REPLICA_URLS: 'postgres://h/d' };
  expect(() => readConfig(settings)).toThrow(/^PDS_REPLICA_URLS was removed in version 2\.0: set PDS_REPLICA_URL to /);
});

describe('a setting that can hold a password can be in a file:', () => {
  const folder = newFolder();

  /** The path of a new file. */
  function fileOf(contents: string): string {
    const file = join(folder, 'secret');
    writeFileSync(file, contents);
    return file;
  }

  test('all of the file but a last line feed is the value', () => {
    const url = 'postgres://pds:sesame@h/d';
    for (const contents of [url, `${url}\n`]) {
      const settings = { PDS_DATABASE_URL_FILE: fileOf(contents), PDS_REPLICA_URL_FILE: fileOf(contents) };
      const { database, replicaUrl } = readConfig(settings);
      expect([database, replicaUrl]).toEqual([{ engine: 'postgres', url }, url]);
    }
    expect(readConfig({ PDS_REDIS_URL_FILE: fileOf('redis://h\n') }).redisUrl).toBe('redis://h');
    expect(() => readConfig({ PDS_DATABASE_URL_FILE: fileOf('sqlite:x\n\n') })).toThrow('PDS_DATABASE_URL must be');
  });

  test.each([
    [
      'both are set',
      { PDS_REDIS_URL: 'redis://:sesame@h', PDS_REDIS_URL_FILE: '/none' },
      'is set together with PDS_REDIS_URL',
    ],
    ['there is no file', { PDS_REDIS_URL_FILE: '/none' }, 'names /none, which cannot be read (ENOENT)'],
    ['it is a folder', { PDS_REDIS_URL_FILE: '/tmp' }, 'names /tmp, which cannot be read (EISDIR)'],
    ['it is the value', { PDS_REDIS_URL_FILE: 'redis://:sesame@h' }, 'must be the path of a file'],
  ])('it is refused if %s, without the contents', (_, settings, problem) => {
    const refusing = (): unknown => readConfig(settings);
    expect(refusing).toThrow(`PDS_REDIS_URL_FILE ${problem}`);
    expect(refusing).not.toThrow('sesame');
  });

  test('contents that are empty or invalid are refused, and the file is named', () => {
    const empty = fileOf('\n');
    expect(() => readConfig({ PDS_REDIS_URL_FILE: empty })).toThrow(
      `PDS_REDIS_URL_FILE names ${empty}, which is empty`,
    );
    const invalid = { PDS_DATABASE_URL_FILE: fileOf('mysql://u:sesame@h') };
    expect(() => readConfig(invalid)).toThrow(/^PDS_DATABASE_URL must be .*\. It is set in \/.*secret$/);
    expect(() => readConfig(invalid)).not.toThrow('sesame');
  });

  test('an empty variable does not count', () => {
    const file = fileOf('postgres://h/d');
    expect(readConfig({ PDS_DATABASE_URL: '', PDS_DATABASE_URL_FILE: file }).database.engine).toBe('postgres');
    expect(readConfig({ PDS_DATABASE_URL_FILE: '' }).database.engine).toBe('sqlite');
  });

  test('other settings have no file', () => {
    expect(() => readConfig({ PDS_PORT_FILE: fileOf('1') })).toThrow('PDS_PORT_FILE is not a known setting');
  });
});

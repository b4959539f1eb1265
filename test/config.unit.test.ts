import { expect, test } from 'vitest';
import { ConfigError, readConfig } from '../src/config.ts';

test('the default settings are for development: a SQLite file, reachable from this machine only', () => {
  expect(readConfig({ PATH: '/bin' })).toEqual({
    environment: 'dev',
    database: { engine: 'sqlite', path: 'data/pds.sqlite' },
    replicaUrls: [],
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
  ['PDS_REPLICA_URLS', 'postgres://h/d'], // beside SQLite
  ['PDS_REPLICA_URLS', 'sqlite:x'],
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

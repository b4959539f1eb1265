import { describe, expect, test } from 'vitest';
import { readOptions, UsageError } from '../../src/mirror/options.ts';
import { progressText } from '../../src/mirror/report.ts';
import { startMirrorHere } from './support/mirror-here.ts';

const KEY = 'pds_test_abcdefgh_secret';
const ENVIRONMENT = { PARTNER_DATA_KEY: KEY, PARTNER_DATA_URL: 'https://api.example.com/' };
const STORE = ['--sqlite', 'copy.sqlite'];

test('a store and the environment suffice, with defaults for the rest', () => {
  expect(readOptions(STORE, ENVIRONMENT)).toEqual({
    store: { type: 'sqlite', path: 'copy.sqlite' },
    baseUrl: 'https://api.example.com',
    apiKey: KEY,
    watchMs: null,
    maxAgeMs: null,
    isJson: false,
    onChange: null,
    ignored: [],
  });
});

test('--url takes precedence over the environment and is normalized, and times have units', () => {
  const args = ['--ndjson', 'copy', '--url', 'HTTP://LocalHost:80/data//', '--watch', '5m', '--on-change', 'make'];
  expect(readOptions([...args, '--json'], ENVIRONMENT)).toMatchObject({
    store: { type: 'ndjson', path: 'copy' },
    baseUrl: 'http://localhost/data',
    watchMs: 300_000,
    isJson: true,
    onChange: 'make',
  });
});

describe('wrong usage is rejected with advice:', () => {
  test.each<[string, string[], Record<string, string>, RegExp]>([
    ['no store', [], ENVIRONMENT, /--sqlite FILE and --ndjson DIRECTORY/],
    ['two stores', [...STORE, '--ndjson', 'x'], ENVIRONMENT, /exactly one of/],
    ['no key', STORE, { PARTNER_DATA_URL: 'https://x' }, /set PARTNER_DATA_KEY/],
    ['a key with a line feed', STORE, { ...ENVIRONMENT, PARTNER_DATA_KEY: `${KEY}\n` }, /is not an API key/],
    ['no URL', STORE, { PARTNER_DATA_KEY: KEY }, /--url or PARTNER_DATA_URL/],
    ['a malformed URL', [...STORE, '--url', 'api.example.com'], ENVIRONMENT, /absolute/],
    ['a password in the URL', [...STORE, '--url', 'https://a:b@x'], ENVIRONMENT, /must not contain a user, a password/],
    ['a query in the URL', [...STORE, '--url', 'https://x/?a=b'], ENVIRONMENT, /must not contain .* a query/],
    ['a time without a unit', [...STORE, '--watch', '5'], ENVIRONMENT, /--watch must be a time such as/],
    ['a watch without a pause', [...STORE, '--watch', '0s'], ENVIRONMENT, /at least 1s/],
    ['an age without a unit', [...STORE, '--max-age', '2'], ENVIRONMENT, /--max-age must be a time such as/],
    ['an unknown option', [...STORE, '--key', KEY], ENVIRONMENT, /--key/],
    ['a key as an argument', [...STORE, KEY], ENVIRONMENT, /unexpected argument/],
  ])('%s', (_case, args, environment, message) => {
    const read = (): unknown => readOptions(args, environment);
    expect(read).toThrow(UsageError);
    expect(read).toThrow(message);
    expect(read).not.toThrow(KEY);
  });
});

test('wrong usage is one line on stderr that begins with what is wrong, and exit code 2', async () => {
  const { code, stdout, stderr } = await startMirrorHere(STORE, { PARTNER_DATA_URL: 'https://x' }).ended;
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toBe('partner-data-mirror: set PARTNER_DATA_KEY to your API key (see --help)\n');
});

test('options of version 1 that are no longer needed are accepted, with any value', () => {
  const given = ['--reconcile', '--reconcile-every', '1d', '--refresh', 'x'];
  expect(readOptions([...STORE, ...given], ENVIRONMENT)).toMatchObject({
    ignored: ['--reconcile', '--reconcile-every', '--refresh'],
  });
});

test('a terminal shows how much is received, in one line that is cleared', () => {
  expect([12_300, null].map(progressText)).toEqual(['\r\u001B[K12,300 records received', '\r\u001B[K']);
});

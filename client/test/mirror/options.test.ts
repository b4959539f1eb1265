import { describe, expect, test } from 'vitest';
import { readOptions, UsageError } from '../../src/mirror/options.ts';
import { ProgressBar, timeText } from '../../src/mirror/progress.ts';

const KEY = 'pds_test_abcdefgh_secret';
const ENVIRONMENT = { PARTNER_DATA_KEY: KEY, PARTNER_DATA_URL: 'https://api.example.com/' };
const STORE = ['--sqlite', 'copy.sqlite'];

test('a store and the environment suffice, with defaults for the rest', () => {
  expect(readOptions(STORE, ENVIRONMENT)).toEqual({
    store: { type: 'sqlite', path: 'copy.sqlite' },
    baseUrl: 'https://api.example.com',
    apiKey: KEY,
    watchMs: null,
    isReconciling: false,
    reconcileEveryMs: null,
    refreshMs: 30 * 86_400_000,
    isJson: false,
  });
});

test('--url takes precedence over the environment and is normalized, and times have units', () => {
  const args = ['--ndjson', 'copy', '--url', 'HTTP://LocalHost:80/data//', '--watch', '5m', '--reconcile-every', '1d'];
  expect(readOptions([...args, '--refresh', '12h', '--json'], ENVIRONMENT)).toMatchObject({
    store: { type: 'ndjson', path: 'copy' },
    baseUrl: 'http://localhost/data',
    watchMs: 300_000,
    reconcileEveryMs: 86_400_000,
    refreshMs: 43_200_000,
    isJson: true,
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
    ['an unknown option', [...STORE, '--key', KEY], ENVIRONMENT, /--key/],
    ['a key as an argument', [...STORE, KEY], ENVIRONMENT, /unexpected argument/],
  ])('%s', (_case, args, environment, message) => {
    const read = (): unknown => readOptions(args, environment);
    expect(read).toThrow(UsageError);
    expect(read).toThrow(message);
    expect(read).not.toThrow(KEY);
  });
});

test('a progress bar shows how much is done and how long the rest takes, and clears its line at the end', () => {
  const drawn: string[] = [];
  let nowMs = 0;
  const terminal = { columns: 80, write: (text: string) => drawn.push(text) };
  const bar = new ProgressBar(terminal, () => nowMs);
  bar.begin('solicitations', 100, 700);
  nowMs = 1_000;
  bar.advance(300);
  expect(drawn.at(-1)).toContain('solicitations 300 of 700, 2 seconds left [==========              ]');
  bar.pause(30_000);
  expect(drawn.at(-1)).toContain('2 seconds left; waiting 30 seconds [==');
  bar.begin('solicitations', 990_000, 1_000_000);
  nowMs = 2_000;
  bar.advance(999_999);
  bar.pause(43_000);
  // A full line of 80 would make the terminal wrap.
  expect(drawn.at(-1)).toHaveLength('\r\u001B[K'.length + 79);
  bar.begin('contracts', 0, null);
  nowMs = 3_000;
  bar.advance(12_300);
  expect(drawn.at(-1)).toBe('\r\u001B[Kcontracts 12,300');
  bar.end();
  expect(drawn.at(-1)).toBe('\r\u001B[K');
});

test('durations are shown in whole units, rounded up', () => {
  expect([1_000, 61_000, 1_000_000, 100 * 60_000, 28 * 3_600_000].map(timeText)).toEqual([
    '1 second',
    '61 seconds',
    '17 minutes',
    '2 hours',
    '28 hours',
  ]);
});

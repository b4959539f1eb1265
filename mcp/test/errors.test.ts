import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import {
  drop,
  sendError,
  sendHtml,
  sendJson,
  sendList,
  startFaultyServer,
  type Misbehave,
} from '../../client/test/support/faulty-server.ts';
import { forAllTests } from '../../test/support/lifetimes.ts';
import { startAssistant } from './support/assistant.ts';

const KEY = 'pds_test_secret_that_no_answer_may_have';

let misbehave: Misbehave = drop;

const server = forAllTests(() => startFaultyServer((...given) => misbehave(...given)));
const assistant = forAllTests(() => startAssistant(server.url, KEY));

const CASES: [what: string, Misbehave, RegExp][] = [
  ['a key that is not accepted', (response) => sendError(response, 401, 'unauthorized'), /check its PARTNER_DATA_KEY/],
  ['a kind that the key lacks', (response) => sendError(response, 403, 'forbidden'), /the operator of the service/],
  ['a record that is gone', (response) => sendError(response, 404, 'not_found'), /Search for the record/],
  ['a wrong argument', (response) => sendError(response, 400, 'validation_failed'), /Correct the arguments/],
  [
    'the limit',
    (response) => sendError(response, 429, 'rate_limited', { 'retry-after': '41' }),
    /^This is rate_limited\.\nWait 41 seconds before the next call/,
  ],
  [
    'a failure',
    (response) => sendError(response, 500, 'internal_error'),
    /Call again in a minute.*\nRequest ID: req_test$/,
  ],
  ["a proxy's page", (response) => sendHtml(response, 403), /check PARTNER_DATA_URL, and any proxy/],
  ['no response', drop, /the service does not respond/],
  [
    'an error with the key',
    (response, _index, request) =>
      sendJson(response, { error: { code: 'x', message: `No ${String(request.headers.authorization)}\u202E` } }, 418),
    /^No Bearer \[key\]\n/,
  ],
];

test.each(CASES)('answers %s with what to do, and never with the key', async (_what, behaviour, advice) => {
  misbehave = behaviour;
  const { text, isError } = await assistant.call('get_record', { kind: 'contracts', id: 'ctr_1' });
  expect(isError).toBe(true);
  expect(text).toMatch(advice);
  expect(text).not.toContain(KEY);
});

test('an answer tells once that the key ends', async () => {
  misbehave = (response) => {
    response.setHeader('x-key-expires-at', '2026-12-01T00:00:00.000Z');
    sendList(response, []);
  };
  const note = 'the API key of this server ends at 2026-12-01T00:00:00.000Z';
  expect((await assistant.call('search_contracts')).text).toContain(note);
  expect((await assistant.call('search_contracts')).text).not.toContain(note);
});

test.each([
  [{}, [], 'PARTNER_DATA_KEY is not set'],
  [{ PARTNER_DATA_KEY: '${PARTNER_DATA_KEY}' }, [], 'PARTNER_DATA_KEY is not set'],
  [{ PARTNER_DATA_KEY: KEY, PARTNER_DATA_URL: 'example' }, [], 'PARTNER_DATA_URL must be an absolute URL'],
  [{ PARTNER_DATA_URL: 'https://api.example.com' }, [KEY], 'unknown argument'],
])('does not start with %j and %j, and says why', (env, words, message) => {
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...words], { env, encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toMatch(new RegExp(`^partner-data-mcp: ${message}`));
  expect(stderr).not.toContain(KEY);
});

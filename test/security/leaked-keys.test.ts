import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { issueKey, revokeKey } from '../../src/access/key-admin.ts';
import { composeKey, findKeys, issueKeyText, LEAKED_KEY, parseKey } from '../../src/access/keys.ts';
import { createPartner } from '../../src/access/partner-admin.ts';
import { runPdsThrough, type Outcome } from '../commands/run-pds.ts';
import { databaseForAllTests } from '../support/database.ts';

const made = databaseForAllTests();
beforeAll(() => createPartner(made.database, Date.now, 'acme', { everything: true }));

/** The expression that SECURITY.md gives for secret scanners. */
function documentedExpression(): RegExp {
  const guide = readFileSync(new URL('../../SECURITY.md', import.meta.url), 'utf8');
  const [, source] = /```regexp\n(.+)\n```/.exec(guide) ?? [];
  if (source === undefined) throw new Error('SECURITY.md gives no expression');
  return new RegExp(source, 'g');
}

/** The contexts in which keys leak. */
const AROUND: ((key: string) => string)[] = [
  (key) => key,
  (key) => `KEY=${key}\n`,
  (key) => `KEY='${key}';`,
  (key) => `{"key":"${key}"}`,
  (key) => `curl -H "Authorization: Bearer ${key}" https://example.org`,
  (key) => `https://example.org/v1/coops?key=${key}&limit=1`,
  (key) => `<td>${key}</td>`,
  (key) => `(${key}), and ${key}.`,
  (key) => `-${key}-`,
];

test('the regular expression of SECURITY.md is the one in use, and finds keys of both environments in any context', () => {
  const expression = documentedExpression();
  expect(expression.source).toBe(LEAKED_KEY.source);
  for (let time = 0; time < 200; time += 1) {
    const { key } = issueKeyText(time % 2 === 0 ? 'live' : 'test');
    for (const around of AROUND) {
      const found = [...around(key).matchAll(expression)].map(([match]) => match);
      expect(new Set(found), around(key)).toEqual(new Set([key]));
      expect(new Set(findKeys(around(key)))).toEqual(new Set([key]));
    }
  }
});

test('the regular expression matches only the format of a key, and the checksum rules out lookalikes', () => {
  const expression = documentedExpression();
  const { key } = issueKeyText('live');
  const others = [
    ...['pds_live_', 'pds_test_…', 'pds_live_<API_KEY>', 'pds_live_a1b2c3d4', 'pds_live_a1b2c3d4_'],
    ...[
      key.slice(0, -1),
      `${key}0`,
      `x${key}`,
      key.replace('live', 'prod'),
      key.replaceAll('_', '-'),
      key.toUpperCase(),
    ],
    ...['req_b1mLHn3RKaYCJL5VFKRQBQ', 'sk_live_51H8xY2eZvKYlo2C0aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789'],
  ];
  for (const other of others) expect(other.match(expression), other).toBeNull();
  const lookalike = `pds_live_${'a'.repeat(8)}_${'b'.repeat(44)}`;
  expect(lookalike).toMatch(expression);
  expect(findKeys(lookalike)).toEqual([]);
});

const PIPED = ['sh', '-c', 'printf %s "$TEXT" | exec "$0" "$@"'];

/** Runs `pds key find` on a text. */
const find = (text: string, options: readonly string[] = []): Promise<Outcome> =>
  runPdsThrough(PIPED, ['key', 'find', ...options], { ...made.settings, TEXT: text });

test('"pds key find" reports the owners of the keys in a text without printing the keys', async () => {
  const issue = (environment: 'test' | 'live') =>
    issueKey(made.database, Date.now, 'acme', { environment, lifetimeMs: null, label: 'their portal' });
  const [good, revoked, live] = [await issue('test'), await issue('test'), await issue('live')];
  await revokeKey(made.database, Date.now, revoked.details.id);
  const stranger = issueKeyText('test');
  // An existing id and a valid checksum, with another secret.
  const forged = composeKey('test', good.details.id, 'x'.repeat(38));
  const input = `nothing\n${good.key} ${revoked.key}\n\n${live.key}\r\n${stranger.key}\n${forged}\n${good.key.slice(0, -1)}A\n${good.key}`;
  for (const options of [[], ['--json']]) {
    const { code, stdout, stderr } = await find(input, options);
    expect(code).toBe(1);
    expect(findKeys(stdout + stderr)).toEqual([]);
    expect(stdout).not.toContain(good.key.slice(18));
    if (options.length > 0) {
      const { keys } = JSON.parse(stdout) as { keys: Record<string, unknown>[] };
      expect(keys.map(({ line, id, state, partner }) => [line, id, state, partner])).toEqual([
        [2, good.details.id, 'active', 'acme'],
        [2, revoked.details.id, 'revoked', 'acme'],
        [4, live.details.id, 'active', 'acme'],
        [5, stranger.id, 'unknown', undefined],
        [6, parseKey(forged)?.id, 'unknown', undefined],
      ]);
    } else {
      expect(stdout.split('\n')[1]).toMatch(new RegExp(`^2 +${good.details.id} +test +active +acme +their portal$`));
      expect(stderr).toContain(`pds key revoke ${good.details.id}, pds key revoke ${live.details.id}`);
    }
  }
});

test('"pds key find" reports a text without keys, and exits with 0 unless a key is active', async () => {
  expect(await find('nothing\npds_live_a1b2c3d4\n')).toEqual({
    ...{ code: 0, stdout: '' },
    stderr: 'There is no key in this text (2 lines).\n',
  });
  expect(await find(issueKeyText('test').key)).toMatchObject({
    code: 0,
    stderr: 'None of these keys is active here.\n',
  });
});

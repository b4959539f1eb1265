import { describe, expect, test } from 'vitest';
import { callPds } from './call-pds.ts';
import { runPds } from './run-pds.ts';

// None of these reaches a database.

describe('wrong usage exits with 2, and help with 0', () => {
  test.each(['', 'partner', 'inspect'])('pds %s', async (line) => {
    const { code, stdout, stderr } = await callPds(line.split(' ').filter(Boolean), {});
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^(error: |Usage: )/);
  });

  test('pds partner grant --help', async () => {
    const { code, stdout, stderr } = await callPds(['partner', 'grant', '--help'], {});
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('--lead-entity <id>');
  });
});

test.each([
  ['import some --replace --allow-removals', '"pds import --allow-removals" was removed in version 2.0: use --yes,'],
  ['--json import some --dry-run', '"pds import --dry-run" was removed in version 2.0: use "pds diff"\n'],
  ['import --show=all some', '"pds import --show" was removed in version 2.0: use "pds diff"'],
  [
    'convert ocds a.json --out b --call-offs',
    '"pds convert ocds --call-offs" was removed in version 2.0: contracts under',
  ],
  ['convert ocds a.json --out b --coop x', '"pds convert ocds --coop" was removed in version 2.0: add "coop_id"'],
  [
    'convert ocds a.json --out b --contact-points',
    '"pds convert ocds --contact-points" was removed in version 2.0: add',
  ],
  [
    'key label abcdefgh billing',
    '"pds key label" was removed in version 2.0: set a label with "pds key issue --label"',
  ],
  ['completion powershell', 'was removed in version 2.0: completion is for bash, zsh and fish'],
  ['check --patroni http://127.0.0.1:8008', '"pds check --patroni" was removed in version 2.0: use "patronictl list"'],
  ['diff some --dry-run', "unknown option '--dry-run'"],
  ['serve --workers 4', '"pds serve --workers" was removed in version 2.0: start several services on one port with'],
  ['--json serve --port 0 --workers=4', '"pds serve --workers" was removed in version 2.0: start several'],
])('pds %s, which a version before had, names what replaces it', async (line, says) => {
  const { code, stdout, stderr } = await callPds(line.split(' '), {});
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(says);
});

test('a command that cannot reach its database exits with 1, and names it without its password', async () => {
  const settings = { PDS_DATABASE_URL: 'postgres://me:hush@127.0.0.1:1/pds' };
  const { code, stderr } = await callPds(['partner', 'list'], settings);
  expect(code).toBe(1);
  expect(stderr).toContain('cannot reach the database 127.0.0.1:1/pds');
  expect(stderr).not.toMatch(/hush|\n +at /);
});

test('an old Node is told what is missing, also after npm ci --omit=dev', async () => {
  const older = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } })";
  const { code, stderr } = await runPds(['serve'], {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(older)}`,
  });
  expect(code).toBe(1);
  expect(stderr).toBe(
    `error: pds needs Node 24 or newer, and this is ${process.version}. Install it, or run "npm ci" without --omit=dev, ` +
      'which installs one for "npx pds" and "npm start"\n',
  );
});

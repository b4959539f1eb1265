import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { DEMO_KEY } from '../../src/access/keys.ts';
import { formatDuration } from '../../src/commands/output/progress.ts';
import { findFreePort } from '../support/free-port.ts';
import { newFolder } from '../support/new-folder.ts';
import { MAIN, runPds, runProgram } from './run-pds.ts';

const ESCAPE = '\u001b[';

let folder: string;
let settings: Record<string, string>;
beforeEach(async () => {
  folder = newFolder();
  settings = {
    ...{ PATH: process.env['PATH'] ?? '', TERM: 'xterm-256color', PDS_DATABASE_URL: `sqlite:${folder}/pds.sqlite` },
    ...{ PDS_PORT: String(await findFreePort()), PDS_ADMIN_PORT: '0' },
  };
});

interface Terminal {
  /** Everything shown so far. */
  output(): string;
  /** Waits until `text` is shown. */
  waitFor(text: string): Promise<void>;
  interrupt(): void;
  type(text: string): void;
  exited: Promise<unknown>;
}

/** Runs `pds` on a pseudo-terminal, which `script` of util-linux provides. */
function onTerminal(words: string, more: Record<string, string> = {}): Terminal {
  const command = `exec ${process.execPath} ${MAIN} ${words}`;
  const child = spawn('script', ['-qefc', command, '/dev/null'], { env: { ...settings, ...more } });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return {
    output: () => text,
    exited: once(child, 'close'),
    interrupt: () => child.stdin.write('\u0003'),
    type: (typed) => child.stdin.write(typed),
    async waitFor(expected) {
      while (!stripVTControlCharacters(text).includes(expected)) await once(child.stdout, 'data');
    },
  };
}

/** Runs `pds` with its output piped. */
async function piped(words: string, more: Record<string, string> = {}) {
  const { code, stdout, stderr } = await runPds(words.split(' '), { ...settings, ...more });
  return { code, text: stdout + stderr };
}

describe('pds serve on a terminal', { timeout: 60_000 }, () => {
  test('shows the addresses and a request to copy, and below them one line for each request', async () => {
    const terminal = onTerminal('serve --demo');
    const origin = `http://127.0.0.1:${settings['PDS_PORT']}`;
    await terminal.waitFor('Server listening');
    const response = await fetch(`${origin}/v1/contracts?limit=2`, {
      headers: { authorization: `Bearer ${DEMO_KEY}` },
    });
    await response.text();
    await terminal.waitFor('GET /v1/contracts 200');
    terminal.interrupt();
    await terminal.exited;
    const text = stripVTControlCharacters(terminal.output());
    for (const line of [
      `API       ${origin}/v1`,
      `Portal    ${origin}/docs`,
      'Stop      Ctrl-C',
      `curl -H 'Authorization: Bearer ${DEMO_KEY}'`,
    ])
      expect(text).toContain(line);
    expect(text.indexOf('Ctrl-C')).toBeLessThan(text.indexOf('INFO'));
    expect(text).toMatch(/INFO: GET \/v1\/contracts 200 in [\d.]+ ms with 2 records demo req_\S{22}\r\n/);
    expect(text).not.toContain('{"level"');
  });

  test('has no line for the files of a page of the portal, only for the page, and the reason of each refusal', async () => {
    const terminal = onTerminal('serve --demo');
    const origin = `http://127.0.0.1:${settings['PDS_PORT']}`;
    await terminal.waitFor('Server listening');
    const get = async (path: string): Promise<string> => (await fetch(new URL(path, origin))).text();
    const page = await get('/docs');
    const files = Array.from(page.matchAll(/(?:src|href)="(\/docs\/[^"]+\.\w+)"/g), ([, path = '']) => path);
    expect(files.length).toBeGreaterThan(2);
    for (const file of files) await get(file);
    await get('/docs/none.css');
    await get('/v1/coops');
    await fetch(`${origin}/v1/coops?limt=1`, { headers: { authorization: `Bearer ${DEMO_KEY}` } });
    await terminal.waitFor('GET /v1/coops 400');
    terminal.interrupt();
    await terminal.exited;
    const text = stripVTControlCharacters(terminal.output());
    expect(
      Array.from(text.matchAll(/INFO: (GET \S.*?)\r\n/g), ([, line = '']) =>
        line.replace(/ in .* ms/, '').replace(/req_[\w-]+/, 'ID'),
      ),
    ).toEqual([
      'GET /docs 200 ID',
      'GET (no route) 404 ID: No such path.',
      'GET /v1/coops 401 ID: key missing',
      'GET /v1/coops 400 demo ID: Unknown parameter "limt".',
    ]);
  });

  // So it does if stdout is a pipe: other tests parse these lines.
  test('writes JSON lines with --log-format json', async () => {
    const terminal = onTerminal('serve --log-format json');
    await terminal.waitFor('Server listening');
    terminal.interrupt();
    await terminal.exited;
    expect(terminal.output()).toContain('{"level":30');
  });
});

test('colors are shown on a terminal and with FORCE_COLOR, but not with NO_COLOR or in a pipe', async () => {
  const outputOf = async (more: Record<string, string>): Promise<string> => {
    const terminal = onTerminal('partner list', more);
    await terminal.exited;
    return terminal.output();
  };
  expect(await outputOf({})).toContain(`${ESCAPE}31merror:`);
  expect(await outputOf({ NO_COLOR: '1' })).not.toContain(ESCAPE);
  expect((await piped('partner list')).text).not.toContain(ESCAPE);
  expect((await piped('partner list', { FORCE_COLOR: '1' })).text).toContain(ESCAPE);
});

test('the bar of an import fits in 80 columns, with an estimate only once there is one', async () => {
  const terminal = onTerminal(`import ${fileURLToPath(new URL('../../sample', import.meta.url))}`);
  await terminal.exited;
  const frames = stripVTControlCharacters(terminal.output().replaceAll(`${ESCAPE}1G`, '\n')).split(/[\r\n]+/);
  const bars = frames.filter((frame) => /^Importing .*%/.test(frame));
  expect(bars[0]).not.toContain('left');
  expect(bars.some((bar) => /\d records \| suppliers/.test(bar))).toBe(true);
  // With seven digits of records and an hour left.
  for (const bar of bars) expect(bar.length).toBeLessThanOrEqual(80 - '000'.length - '59m '.length);
});

test('pds partner delete asks on a terminal, naming grants and active keys, and needs --yes elsewhere', async () => {
  await piped('partner create acme --everything');
  const issued = await piped('key issue acme --label billing');
  const keyId = issued.text.slice(9, 17);
  const refused = await piped('partner delete acme');
  expect(refused).toEqual({
    code: 2,
    text:
      'error: "pds partner delete acme" cannot be undone, and there is no terminal to confirm it on. ' +
      'See what it has with "pds partner show acme", then run "pds partner delete acme --yes"\n',
  });
  const asking = async (answer: string): Promise<string> => {
    const terminal = onTerminal('partner delete acme');
    await terminal.waitFor('Delete acme? [y/N]');
    terminal.type(`${answer}\n`);
    await terminal.exited;
    return stripVTControlCharacters(terminal.output());
  };
  const declined = await asking('');
  expect(declined).toContain('acme sees everything. Active keys: 1.');
  expect(declined).toMatch(new RegExp(`^${keyId} .* acme +billing\r$`, 'm'));
  expect(declined).toContain('error: not confirmed; nothing was changed');
  expect(await asking('yes')).toContain(`Running servers reject its keys within a second: ${keyId}.`);
  expect((await piped('partner delete acme --yes')).text).toContain('error: there is no partner "acme"');
  // Its name stays in the audit trail.
  expect((await piped('audit --partner acme')).text).toMatch(/ partner delete +acme +- +keys=\S+ grants=0$/m);
  expect(await piped('audit --partner nobody')).toMatchObject({ code: 1 });
}, 120_000);

test('--json works before and after the command', async () => {
  const before = await piped('--json check');
  const after = await piped('check --json');
  expect(before).toEqual(after);
  expect(JSON.parse(before.text)).toMatchObject({ ok: true });
});

test.each(['bash', 'zsh', 'fish'])('pds completion %s writes a script that asks pds for the words', async (shell) => {
  const { text, code } = await piped(`completion ${shell}`);
  expect(code).toBe(0);
  expect(text).toContain('complete --');
  expect((await piped('complete -- partner gr')).text).toMatch(/^grant\t/);
});

test('bash completes words without the package bash-completion', async () => {
  const script = [
    `pds() { ${process.execPath} ${MAIN} "$@"; }`,
    'source <(pds completion bash)',
    'COMP_WORDS=(pds partner gr) COMP_CWORD=2',
    // Bash has this only while it completes.
    'compopt() { :; }',
    '__pds_complete; echo "${COMPREPLY[@]}"',
  ].join('\n');
  const outcome = await runProgram(['bash', '--noprofile', '--norc', '-c', script], settings);
  expect(outcome).toEqual({ code: 0, stdout: 'grant\n', stderr: '' });
});

test('a time left is never shown with 60 seconds or 60 minutes', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e6, noNaN: true }), (seconds) => {
      expect(formatDuration(seconds)).toMatch(/^(\d{1,2}s|\d{1,2}m \d{1,2}s|\d+h \d{1,2}m)$/);
      expect(formatDuration(seconds)).not.toMatch(/(^| )60[sm]/);
    }),
  );
});

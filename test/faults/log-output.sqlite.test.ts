import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { MAIN } from '../commands/run-pds.ts';
import { createClient } from '../support/client.ts';
import { databaseForAllTests } from '../support/database.ts';
import { findFreePort } from '../support/free-port.ts';
import { newFolder } from '../support/new-folder.ts';
import { mountSmallDisk, whyNoSmallDisk } from './small-disk.ts';

/** Every write to it fails. */
const FULL = openSync('/dev/full', 'w');
const NO_DISK = whyNoSmallDisk();

const started: ChildProcess[] = [];

const made = databaseForAllTests();
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

type Run = Awaited<ReturnType<typeof serve>>;

/** Starts the service with the given standard output, and waits until it responds. */
async function serve(stdout: number | 'pipe', launcher: readonly string[] = []) {
  const port = await findFreePort();
  const [program, ...words] = [...launcher, process.execPath, MAIN, 'serve', '--port', String(port)];
  const child = spawn(program, words, {
    env: { PATH: process.env['PATH'], ...made.settings, PDS_ADMIN_PORT: '0' },
    stdio: ['ignore', stdout, 'pipe'],
  });
  started.push(child);
  const remarks: string[] = [];
  child.stderr?.on('data', (chunk: Buffer) => remarks.push(chunk.toString()));
  const exited = once(child, 'exit');
  const client = createClient(`http://127.0.0.1:${port}`);
  void exited.then(() => client.close());
  while ((await client.get('/health').catch(() => null))?.status !== 200) {
    if (child.exitCode !== null) throw new Error(`it ended:\n${remarks.join('')}`);
    await delay(50);
  }
  return {
    child,
    exited,
    remarks: () => remarks.join(''),
    /** Sends this many requests; throws if a response is not 200. */
    async ask(times = 20): Promise<void> {
      for (let done = 0; done < times; done += 20) {
        const answers = await Promise.all(Array.from({ length: 20 }, () => client.get('/health')));
        for (const { status } of answers) expect(status).toBe(200);
      }
    },
  };
}

async function endsByItself({ child, exited }: Run): Promise<void> {
  child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
}

describe('a server whose log cannot be written keeps serving, and shuts down on a signal', () => {
  test('on a full disk', async () => {
    const run = await serve(FULL);
    await run.ask();
    // Longer than lines are buffered, so that a write has failed.
    await delay(300);
    await run.ask();
    expect(run.remarks()).toMatch(/^warning: the log cannot be written \(ENOSPC.*requests are served normally$/m);
    await endsByItself(run);
  });

  test.skipIf(NO_DISK !== null)(`and writes what waited when there is room again ${NO_DISK ?? ''}`, async () => {
    using stack = new DisposableStack();
    const disk = mountSmallDisk(1);
    stack.defer(() => disk.remove());
    const path = join(disk.folder, 'log');
    const file = openSync(path, 'a');
    const run = await serve(file);
    closeSync(file);
    disk.fill();
    await run.ask(60);
    while (!run.remarks().includes('ENOSPC')) await delay(20);
    await run.ask(60);
    disk.free();
    while (!readFileSync(path, 'utf8').includes('the log can be written again')) await delay(20);
    await endsByItself(run);
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    const messages = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
    expect(messages.filter((msg) => msg === 'request answered').length).toBeGreaterThanOrEqual(120);
    expect(messages.at(-1)).toBe('stopping');
    expect(run.remarks().match(/warning/g)).toHaveLength(1);
  });

  test('with its reader gone', async () => {
    const run = await serve('pipe');
    run.child.stdout?.destroy();
    await run.ask();
    await delay(300);
    await run.ask();
    expect(run.remarks()).toContain('EPIPE');
    await endsByItself(run);
  });

  test('with its reader stalled', async () => {
    const run = await serve('pipe');
    // More than the pipe's buffer holds; nothing reads it.
    await run.ask(2_000);
    await endsByItself(run);
  });
});

test('a server started without standard streams serves and shuts down', async () => {
  await endsByItself(await serve('pipe', ['sh', '-c', 'exec "$0" "$@" <&- >&- 2>&-']));
});

describe('a command', () => {
  async function run(words: string[], stdio: ['ignore', number | 'pipe', number | 'pipe']) {
    const child = spawn(process.execPath, [MAIN, ...words], {
      env: { PATH: process.env['PATH'], ...made.settings },
      stdio,
    });
    const chunks: string[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => chunks.push(String(chunk)));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, output: chunks.join('') };
  }

  test('whose output cannot be written reports it, says what to do with a key, and exits with 1', async () => {
    expect((await run(['partner', 'create', 'acme'], ['ignore', FULL, 'pipe'])).code).toBe(0);
    for (const words of [
      ['partner', 'list'],
      ['key', 'issue', 'acme'],
      ['key', 'list', '--json'],
    ]) {
      const { code, output } = await run(words, ['ignore', FULL, 'pipe']);
      expect(code).toBe(1);
      expect(output).toMatch(/^error: cannot write the output: ENOSPC.*revoke it and issue another$/m);
    }
    expect((await run(['key', 'list', '--json'], ['ignore', 'pipe', 'pipe'])).output).toContain('"state": "active"');
  });

  test('that compares exits with 2 if its output cannot be written, and claims no change', async () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'coops.ndjson'), '');
    const ended = await run(['--json', 'diff', folder], ['ignore', FULL, 'pipe']);
    expect(ended.code).toBe(2);
    expect(ended.output).toMatch(
      /^error: cannot write the output: ENOSPC.*Changes that the command made, if any, were/m,
    );
  });

  test('whose messages cannot be written still does its work, with its own exit code', async () => {
    expect((await run(['partner', 'create', 'beta'], ['ignore', 'pipe', FULL])).code).toBe(0);
    expect((await run(['partner', 'create', 'beta'], ['ignore', 'pipe', FULL])).code).toBe(1);
    expect((await run(['partner', 'show', 'beta'], ['ignore', 'pipe', FULL])).output).toContain('beta');
  });
});

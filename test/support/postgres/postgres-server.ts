import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findFreePort } from '../free-port.ts';
import { initializePostgres, isServerOf, postgresArguments, TEST_SETTINGS } from './postgres-instance.ts';
import { findRunAs, providePrograms, reachableTemporaryFolder, type RunAs } from './postgres-programs.ts';

/*
 * A program that starts PostgreSQL in a temporary folder, prints its URL, and stops and removes it when standard input
 * ends, which happens even if the parent is killed.
 */

const START_ATTEMPTS = 5;
const START_TIMEOUT_MS = 20_000;

/** The data need not survive a server crash either: nobody reads them afterwards. */
const SETTINGS = { ...TEST_SETTINGS, synchronous_commit: 'off' };

const folder = mkdtempSync(join(reachableTemporaryFolder(), 'pds-postgres-'));
const data = join(folder, 'data');
const stopped = new AbortController();
const stopRequested = once(stopped.signal, 'abort');
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopped.abort());
process.stdin.on('end', () => stopped.abort()).on('error', () => stopped.abort());
process.stdin.resume();
// The parent may have exited.
process.stdout.on('error', () => stopped.abort());

let server: ChildProcess | null = null;
try {
  const runAs = findRunAs();
  chmodSync(folder, 0o755);
  const programs = await providePrograms(folder, runAs);
  await initializePostgres(programs, data, runAs);
  const started = await start(programs, runAs);
  server = started.server;
  process.stdout.write(`${started.url}\n`);
  await Promise.race([once(server, 'exit'), stopRequested]);
  if (!stopped.signal.aborted) throw new Error(`PostgreSQL ended by itself:\n${readLog()}`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  if (server !== null) await stop(server);
  rmSync(folder, { recursive: true, force: true });
  process.stdin.destroy();
}

/** Retries on another port, since another process can take a free port before the server binds it. */
async function start(programs: string, runAs: RunAs | null): Promise<{ server: ChildProcess; url: string }> {
  for (let attempt = 1; attempt <= START_ATTEMPTS; attempt++) {
    const port = await findFreePort();
    const log = openSync(join(folder, 'log'), 'w');
    const child = spawn(join(programs, 'postgres'), postgresArguments(data, port, SETTINGS), {
      cwd: folder,
      stdio: ['ignore', log, log],
      ...runAs,
    });
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    if (await accepts(url, child)) return { server: child, url };
    await stop(child);
  }
  throw new Error(`PostgreSQL did not start:\n${readLog()}`);
}

/** Waits until the server accepts connections; false if it exited or another server has the port. */
async function accepts(url: string, child: ChildProcess): Promise<boolean> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (child.exitCode === null && child.signalCode === null && Date.now() < deadline && !stopped.signal.aborted) {
    try {
      return await isServerOf(data, url);
    } catch {
      await delay(30);
    }
  }
  return false;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  // Immediate shutdown: there is nothing to save.
  child.kill('SIGQUIT');
  await exited;
}

function readLog(): string {
  return readFileSync(join(folder, 'log'), 'utf8');
}

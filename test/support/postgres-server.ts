import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { findFreePort } from './free-port.ts';
import { findRunAs, providePrograms, reachableTemporaryFolder, type RunAs } from './postgres-programs.ts';

/*
 * A program: starts a PostgreSQL of its own in a temporary folder, prints its URL, and stops and
 * removes it when standard input ends. The one who started it cannot forget that, even by being killed.
 */

const START_ATTEMPTS = 5;
const START_TIMEOUT_MS = 20_000;

/** Nothing in here has to survive a power cut. Statistics come from the service's own ANALYZE only, so that plans repeat. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  max_connections: '200',
};

/**
 * The default order of text is deliberately not bytewise, as on most servers in the field: a column
 * that is compared without a collation of its own shows up as a difference. Not every build knows ICU.
 */
const LOCALES = [['--locale=C', '--locale-provider=icu', '--icu-locale=en-US'], ['--locale=C']];

const run = promisify(execFile);

const folder = mkdtempSync(join(reachableTemporaryFolder(), 'pds-postgres-'));
const stopped = new AbortController();
const stopRequested = once(stopped.signal, 'abort');
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopped.abort());
process.stdin.on('end', () => stopped.abort()).on('error', () => stopped.abort());
process.stdin.resume();
// Whoever wanted to read the URL may be gone.
process.stdout.on('error', () => stopped.abort());

let server: ChildProcess | null = null;
try {
  const runAs = findRunAs();
  chmodSync(folder, 0o755);
  const programs = await providePrograms(folder, runAs);
  await initialize(programs, runAs);
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

async function initialize(programs: string, runAs: RunAs | null): Promise<void> {
  const failures: string[] = [];
  for (const locale of LOCALES) {
    const data = join(folder, 'data');
    rmSync(data, { recursive: true, force: true });
    mkdirSync(data, 0o700);
    if (runAs !== null) chownSync(data, runAs.uid, runAs.gid);
    const options = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--no-sync', '--no-instructions'];
    try {
      await run(join(programs, 'initdb'), [`--pgdata=${data}`, ...options, ...locale], { cwd: folder, ...runAs });
      return;
    } catch (error) {
      failures.push(String(error));
    }
  }
  throw new Error(`initdb failed:\n${failures.join('\n')}`);
}

/** Another process may take the port between the moment that it was found free and the server's start: then tries another. */
async function start(programs: string, runAs: RunAs | null): Promise<{ server: ChildProcess; url: string }> {
  for (let attempt = 1; attempt <= START_ATTEMPTS; attempt++) {
    const port = await findFreePort();
    const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const log = openSync(join(folder, 'log'), 'w');
    const child = spawn(join(programs, 'postgres'), ['-D', join(folder, 'data'), '-p', String(port), ...settings], {
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

/** Waits until the server answers; false where it ended, or another one has the port. */
async function accepts(url: string, child: ChildProcess): Promise<boolean> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (child.exitCode === null && child.signalCode === null && Date.now() < deadline && !stopped.signal.aborted) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<{ data_directory: string }>('show data_directory');
      return rows[0]?.data_directory === join(folder, 'data');
    } catch {
      await delay(30);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
  return false;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  // Immediate shutdown: nothing is worth waiting for.
  child.kill('SIGQUIT');
  await exited;
}

function readLog(): string {
  return readFileSync(join(folder, 'log'), 'utf8');
}

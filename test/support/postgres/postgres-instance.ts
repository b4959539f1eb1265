import { execFile } from 'node:child_process';
import { chownSync, mkdirSync, rmSync } from 'node:fs';
import { promisify } from 'node:util';
import pg from 'pg';
import type { RunAs } from './postgres-programs.ts';

/**
 * These data need not survive a power cut. Without autovacuum, statistics come only from the service's own ANALYZE, so
 * plans are reproducible.
 */
export const TEST_SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  max_connections: '200',
};

/**
 * The default collation is deliberately not bytewise, as on most servers in the field: a comparison that lacks an
 * explicit collation fails a test. Builds without ICU fall back to C.
 */
const LOCALES = [['--locale=C', '--locale-provider=icu', '--icu-locale=en-US'], ['--locale=C']];

const run = promisify(execFile);

/** Runs initdb with the superuser `postgres`, trusting every local connection. */
export async function initializePostgres(programs: string, data: string, runAs: RunAs | null): Promise<void> {
  const failures: string[] = [];
  for (const locale of LOCALES) {
    makeDataFolder(data, runAs);
    const options = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--no-sync', '--no-instructions'];
    try {
      await run(`${programs}/initdb`, [`--pgdata=${data}`, ...options, ...locale], { cwd: '/', ...runAs });
      return;
    } catch (error) {
      failures.push(String(error));
    }
  }
  throw new Error(`initdb failed:\n${failures.join('\n')}`);
}

/** Creates an empty folder with mode 0700, as PostgreSQL requires. */
export function makeDataFolder(data: string, runAs: RunAs | null): void {
  rmSync(data, { recursive: true, force: true });
  mkdirSync(data, 0o700);
  if (runAs !== null) chownSync(data, runAs.uid, runAs.gid);
}

/** The command-line arguments of `postgres` for a server on these files. */
export function postgresArguments(data: string, port: number, settings: Readonly<Record<string, string>>): string[] {
  return [
    '-D',
    data,
    '-p',
    String(port),
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
}

/** Whether the server at a URL uses this data directory; rejects if none accepts the connection. */
export async function isServerOf(data: string, url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ data_directory: string }>('show data_directory');
    return rows[0]?.data_directory === data;
  } finally {
    await client.end().catch(() => undefined);
  }
}

import { execFile } from 'node:child_process';
import { chownSync, mkdirSync, rmSync } from 'node:fs';
import { promisify } from 'node:util';
import pg from 'pg';
import type { RunAs } from './postgres-programs.ts';

/** Nothing in here has to survive a power cut. Statistics come from the service's own ANALYZE only, so that plans repeat. */
export const TEST_SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'off',
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

/** Makes the files of a server whose superuser is `postgres`, and lets everyone of this machine in. */
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

/** An empty folder that only its owner may enter, as PostgreSQL wants it. */
export function makeDataFolder(data: string, runAs: RunAs | null): void {
  rmSync(data, { recursive: true, force: true });
  mkdirSync(data, 0o700);
  if (runAs !== null) chownSync(data, runAs.uid, runAs.gid);
}

/** The arguments of `postgres` that start a server on these files. */
export function postgresArguments(data: string, port: number, settings: Readonly<Record<string, string>>): string[] {
  return [
    '-D',
    data,
    '-p',
    String(port),
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
}

/** Whether the server of these files answers at a URL; rejected, or false, where none does or another one. */
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

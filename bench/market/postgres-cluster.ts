import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { findRunAs, providePrograms } from '../../test/support/postgres/postgres-programs.ts';
import { OTHER_CORE } from '../machine/cores.ts';
import { findFreePort } from '../../test/support/free-port.ts';
import { startProcess, type StartedProcess } from '../machine/processes.ts';

/** The benchmark's own PostgreSQL. Durable as in production; no parallel queries, because it has only one core. */
export interface PostgresCluster {
  readonly process: StartedProcess;
  readonly version: string;
  urlOf(database: string): string;
  query<T extends object>(database: string, text: string, values?: unknown[]): Promise<T[]>;
  /** The folder with the files of a database. */
  folderOf(database: string): Promise<string>;
  stop(): Promise<void>;
}

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  shared_buffers: '2GB',
  effective_cache_size: '8GB',
  maintenance_work_mem: '512MB',
  max_wal_size: '8GB',
  checkpoint_timeout: '30min',
  random_page_cost: '1.1',
  max_connections: '200',
  jit: 'off',
  max_parallel_workers_per_gather: '0',
  autovacuum_naptime: '1d',
};

/** Starts the cluster in a folder, creating it first if needed. */
export async function startPostgres(folder: string): Promise<PostgresCluster> {
  const runAs = findRunAs();
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
  const programs = await findPrograms(folder, runAs);
  const data = join(folder, 'data');
  if (!existsSync(join(data, 'PG_VERSION'))) {
    mkdirSync(data, { recursive: true, mode: 0o700 });
    if (runAs !== null) chownSync(data, runAs.uid, runAs.gid);
    const options = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-instructions'];
    execFileSync(join(programs, 'initdb'), [`--pgdata=${data}`, ...options], {
      cwd: folder,
      stdio: 'ignore',
      ...runAs,
    });
  }
  const port = await findFreePort();
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = startProcess(join(programs, 'postgres'), ['-D', data, '-p', String(port), ...settings], {
    core: OTHER_CORE,
    cwd: folder,
    runAs,
    log: join(folder, 'log'),
    stopSignal: 'SIGINT',
  });
  const urlOf = (database: string): string => `postgres://postgres@127.0.0.1:${port}/${database}`;
  await waitUntilReady(urlOf('postgres'), server);
  const query = <T extends object>(database: string, text: string, values: unknown[] = []): Promise<T[]> =>
    queryOnce<T>(urlOf(database), text, values);
  const [row] = await query<{ server_version: string }>('postgres', 'show server_version');
  return {
    process: server,
    version: row?.server_version ?? 'unknown',
    urlOf,
    query,
    async folderOf(database) {
      const found = await query<{ oid: number }>('postgres', 'select oid from pg_database where datname = $1', [
        database,
      ]);
      if (found[0] === undefined) throw new Error(`there is no database ${database}`);
      return join(data, 'base', String(found[0].oid));
    },
    stop: () => server.stop(),
  };
}

async function findPrograms(folder: string, runAs: ReturnType<typeof findRunAs>): Promise<string> {
  const copied = join(folder, 'programs', 'bin');
  return existsSync(join(copied, 'postgres')) ? copied : await providePrograms(folder, runAs);
}

async function waitUntilReady(url: string, server: StartedProcess): Promise<void> {
  for (let attempt = 0; attempt < 600 && server.isRunning(); attempt++) {
    try {
      await queryOnce(url, 'select 1', []);
      return;
    } catch {
      await delay(100);
    }
  }
  throw new Error('PostgreSQL did not start; its log is in the folder of the bench');
}

async function queryOnce<T extends object>(url: string, text: string, values: unknown[]): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<T>(text, values)).rows;
  } finally {
    await client.end();
  }
}

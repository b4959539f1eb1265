import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import type { Engine } from '../../src/database/database.ts';
import { openForCommands } from '../../src/database/open.ts';
import { migrate } from '../../src/database/migrations/migrator.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The engine of this project's tests. */
    engine: Engine;
    /** The URL of this run's server, database `postgres`. Only in the project `postgres`. */
    postgresUrl: string;
  }
}

/** A migrated database without connections, copied by `create database … template`. */
export const TEMPLATE_DATABASE = 'pds_template';

/** Starts this run's PostgreSQL, creates the template, and returns the teardown. */
export default async function startPostgres(project: TestProject): Promise<() => Promise<void>> {
  const { url, stop } = await startServer();
  await makeTemplate(url);
  project.provide('postgresUrl', url);
  return stop;
}

/** Starts a separate PostgreSQL, for tests that would disturb others on the shared one. */
export async function startServer(): Promise<{ url: string; stop: () => Promise<void> }> {
  const program = spawn(process.execPath, [fileURLToPath(new URL('postgres/postgres-server.ts', import.meta.url))], {
    stdio: ['pipe', 'pipe', 'inherit'],
    // Survives Ctrl-C, so that it can clean up after the tests.
    detached: true,
  });
  const exited = once(program, 'exit');
  const lines = createInterface({ input: program.stdout });
  const url = await Promise.race([once(lines, 'line').then(([line]) => String(line)), exited.then(() => null)]);
  if (url === null) throw new Error('PostgreSQL could not be started; the reason stands above');
  return {
    url,
    stop: async () => {
      program.stdin.end();
      await exited;
    },
  };
}

async function makeTemplate(url: string): Promise<void> {
  const server = new pg.Client({ connectionString: url });
  await server.connect();
  await server.query(`create database ${TEMPLATE_DATABASE}`);
  const template = openForCommands({ engine: 'postgres', url: databaseUrl(url, TEMPLATE_DATABASE) });
  await migrate(template, Date.now);
  await template.close();
  await server.query(`alter database ${TEMPLATE_DATABASE} with is_template true allow_connections false`);
  await server.end();
}

/** The URL of another database on the same server. */
export function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

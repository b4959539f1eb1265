import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import type { Engine } from '../../src/database/database.ts';
import { openForCommands } from '../../src/database/open.ts';
import { migrate } from '../../src/database/migrations/migrator.ts';
import { Part } from './cluster/part.ts';
import { Workspace } from './cluster/workspace.ts';
import { findLastingPort } from './free-port.ts';
import { initializePostgres, isServerOf, postgresArguments, TEST_SETTINGS } from './postgres/postgres-instance.ts';
import { providePrograms } from './postgres/postgres-programs.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The engine of this project's tests. */
    engine: Engine;
    /** The URL of this run's server, database `postgres`. Only in the project `postgres`. */
    postgresUrl: string;
  }
}

/** The data need not survive a server crash either: nobody reads them afterwards. */
const SETTINGS = { ...TEST_SETTINGS, synchronous_commit: 'off' };

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
  await using started = new AsyncDisposableStack();
  const workspace = new Workspace();
  started.defer(() => workspace.close());
  const programs = await providePrograms(workspace.folder, workspace.runAs);
  const data = workspace.path('data');
  await initializePostgres(programs, data, workspace.runAs);
  const port = await findLastingPort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const server = new Part(workspace, {
    name: 'postgres',
    program: join(programs, 'postgres'),
    args: () => postgresArguments(data, port, SETTINGS),
    // Immediate shutdown: there is nothing to save.
    stopSignal: 'SIGQUIT',
    isReady: () => isServerOf(data, url),
  });
  await server.start();
  const all = started.move();
  return { url, stop: () => all.disposeAsync() };
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

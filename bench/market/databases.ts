import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { PostgresCluster } from './postgres-cluster.ts';

export type Engine = 'sqlite' | 'postgres';
export const ENGINES: readonly Engine[] = ['sqlite', 'postgres'];

/** The folder of the SQLite files, and the PostgreSQL server. */
export interface Place {
  folder: string;
  postgres: PostgresCluster;
}

/** The URL of a benchmark database for the service. */
export function databaseUrl({ folder, postgres }: Place, engine: Engine, name: string): string {
  return engine === 'postgres' ? postgres.urlOf(name) : `sqlite:${join(sqliteFolder(folder, name), 'pds.sqlite')}`;
}

/** Drops a benchmark database, and on PostgreSQL creates it again; the service creates SQLite files itself. */
export async function emptyDatabase(place: Place, engine: Engine, name: string): Promise<void> {
  await dropDatabase(place, engine, name);
  if (engine === 'postgres') await place.postgres.query('postgres', `create database ${name}`);
}

/** Drops a benchmark database if there is one. */
export async function dropDatabase({ folder, postgres }: Place, engine: Engine, name: string): Promise<void> {
  if (engine === 'postgres') await postgres.query('postgres', `drop database if exists ${name} with (force)`);
  else rmSync(sqliteFolder(folder, name), { recursive: true, force: true });
}

/** Copies a database that no server uses. Returns the URL of the copy. */
export async function copyDatabase(place: Place, engine: Engine, from: string, to: string): Promise<string> {
  const { folder, postgres } = place;
  await dropDatabase(place, engine, to);
  if (engine === 'postgres') {
    await postgres.query('postgres', `create database ${to} template ${from} strategy file_copy`);
  } else {
    const source = sqliteFolder(folder, from);
    if (existsSync(source)) cpSync(source, sqliteFolder(folder, to), { recursive: true });
  }
  return databaseUrl(place, engine, to);
}

/** Reads the files of a database into the operating system's memory, which drops what was not used for some minutes. */
export async function readIntoMemory({ postgres }: Place, url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  const folder = url.startsWith('sqlite:') ? dirname(url.replace(/^sqlite:/, '')) : await postgres.folderOf(name);
  const files = readdirSync(folder).map((file) => join(folder, file));
  execFileSync('cat', files, { stdio: 'ignore' });
}

/** The files of a SQLite database are alone in it. The service creates it. */
function sqliteFolder(folder: string, name: string): string {
  mkdirSync(join(folder, 'sqlite'), { recursive: true });
  return join(folder, 'sqlite', name);
}

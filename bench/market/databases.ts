import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { PostgresCluster } from './postgres-cluster.ts';

export type Engine = 'sqlite' | 'postgres';
export const ENGINES: readonly Engine[] = ['sqlite', 'postgres'];

/** The folder of the SQLite files, and the PostgreSQL server. */
export interface Place {
  folder: string;
  postgres: PostgresCluster;
}

const SQLITE_FILES = ['sqlite', 'access.sqlite'].flatMap((file) => [file, `${file}-wal`, `${file}-shm`]);

/** The URL of a benchmark database for the service. */
export function databaseUrl({ folder, postgres }: Place, engine: Engine, name: string): string {
  return engine === 'postgres' ? postgres.urlOf(name) : `sqlite:${sqliteFile(folder, name)}`;
}

/** Drops a benchmark database, and on PostgreSQL creates it again; the service creates SQLite files itself. */
export async function emptyDatabase(place: Place, engine: Engine, name: string): Promise<void> {
  await dropDatabase(place, engine, name);
  if (engine === 'postgres') await place.postgres.query('postgres', `create database ${name}`);
}

/** Drops a benchmark database if there is one. */
export async function dropDatabase({ folder, postgres }: Place, engine: Engine, name: string): Promise<void> {
  if (engine === 'postgres') await postgres.query('postgres', `drop database if exists ${name} with (force)`);
  else for (const suffix of SQLITE_FILES) rmSync(sqliteFile(folder, name, suffix), { force: true });
}

/** Copies a database that no server uses. Returns the URL of the copy. */
export async function copyDatabase(place: Place, engine: Engine, from: string, to: string): Promise<string> {
  const { folder, postgres } = place;
  await dropDatabase(place, engine, to);
  if (engine === 'postgres') {
    await postgres.query('postgres', `create database ${to} template ${from} strategy file_copy`);
  } else {
    for (const suffix of SQLITE_FILES) {
      const source = sqliteFile(folder, from, suffix);
      if (existsSync(source)) copyFileSync(source, sqliteFile(folder, to, suffix));
    }
  }
  return databaseUrl(place, engine, to);
}

function sqliteFile(folder: string, name: string, suffix = 'sqlite'): string {
  mkdirSync(join(folder, 'sqlite'), { recursive: true });
  return join(folder, 'sqlite', `${name}.${suffix}`);
}

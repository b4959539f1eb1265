import { rmSync } from 'node:fs';
import { inject } from 'vitest';
import type { DatabaseConfig } from '../../src/config.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { openForCommands } from '../../src/database/open.ts';
import { readLastEvent } from '../../src/database/event-log.ts';
import { recover } from '../../src/recovery/recover.ts';
import { backup } from '../../src/recovery/backup.ts';
import { restore } from '../../src/recovery/restore.ts';
import { createTestDatabase, onServer } from '../support/database.ts';

/** A database of this project's engine that can lose its latest changes. */
export interface LosableDatabase {
  readonly config: DatabaseConfig;
  /** Opens the database for a change and closes it, since nothing else can have it open during a restore. */
  use<T>(work: (database: OpenDatabase) => Promise<T>): Promise<T>;
  /** Saves the current state for `lose`. */
  backUp(): Promise<void>;
  /** Restores the saved state, and runs the recovery. On SQLite, nobody else can have it open. */
  lose(): Promise<void>;
  drop(): Promise<void>;
}

/**
 * Uses the service's own backup and restore on SQLite. On PostgreSQL it copies the database, which gives the same
 * result as `pg_restore`: to the service, a database on another timeline.
 */
export async function createLosableDatabase(): Promise<LosableDatabase> {
  const made = await createTestDatabase();
  await made.database.close();
  const { config } = made;
  const use: LosableDatabase['use'] = async (work) => {
    await using database = openForCommands(config);
    return await work(database);
  };
  if (config.engine === 'sqlite') {
    const folder = `${config.path}.backup`;
    return {
      ...{ config, use },
      async backUp() {
        rmSync(folder, { recursive: true, force: true });
        await backup(config.path, folder, { clock: Date.now });
      },
      async lose() {
        await restore(config.path, folder, { clock: Date.now });
      },
      drop: () => made.drop(),
    };
  }
  const name = new URL(config.url).pathname.slice(1);
  return {
    ...{ config, use },
    async backUp() {
      await onServer(`drop database if exists ${name}_copy`);
      await copyDatabase(name, `${name}_copy`);
    },
    async lose() {
      // The timestamp an operator takes from a partner's last sync, or from the replaced server if it can be read.
      const after = await use(readLastEvent);
      await onServer(`drop database ${name} with (force)`);
      await copyDatabase(`${name}_copy`, name);
      await use((database) => recover(database, { clock: Date.now, after }));
    },
    async drop() {
      await onServer(`drop database if exists ${name}_copy`);
      await made.drop();
    },
  };
}

async function copyDatabase(from: string, to: string): Promise<void> {
  if (inject('engine') !== 'postgres') throw new Error('this is about PostgreSQL');
  // A database can only be copied without connections; a server's reconnect by themselves.
  await onServer(`alter database ${from} with allow_connections false`);
  await onServer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${from}'`);
  await onServer(`create database ${to} template ${from}`);
  for (const name of [from, to]) await onServer(`alter database ${name} with allow_connections true`);
}

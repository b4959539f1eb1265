import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { SERVING_SETTINGS } from '../../../src/database/postgres/postgres.ts';
import { findLastingPort } from '../free-port.ts';
import {
  initializePostgres,
  isServerOf,
  makeDataFolder,
  postgresArguments,
  TEST_SETTINGS,
} from '../postgres/postgres-instance.ts';
import { findInstalledPrograms } from '../postgres/postgres-programs.ts';
import { Part } from './part.ts';
import type { Workspace } from './workspace.ts';

/** The service's role and database on every server of the cluster. */
export const ROLE = { name: 'pds', password: 'pds-test-password', database: 'pds' };

/** Keeps the WAL that a new base backup needs: a replication slot reserves it only from its first connection on. */
const PRIMARY_SETTINGS = { ...TEST_SETTINGS, wal_keep_size: '128MB' };

/** A replica notices quickly that the primary is down, and that it is back. */
const REPLICA_SETTINGS = {
  ...TEST_SETTINGS,
  wal_receiver_timeout: '2s',
  wal_retrieve_retry_interval: '100ms',
  hot_standby: 'on',
};

/** The superuser connects without a password, the service's role with one, as in production. */
const ACCESS = `host all postgres 127.0.0.1/32 trust
host replication postgres 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
`;

/** A PostgreSQL server, with the service's role and database. */
export class PostgresPart extends Part {
  readonly port: number;
  readonly data: string;
  /** As the service's role. */
  readonly url: string;

  constructor(workspace: Workspace, name: string, port: number, settings: Readonly<Record<string, string>>) {
    const data = workspace.path(name);
    const superuser = `postgres://postgres@127.0.0.1:${port}/postgres`;
    super(workspace, {
      name,
      program: join(findInstalledPrograms(), 'postgres'),
      args: () => postgresArguments(data, port, settings),
      // Fast shutdown: ends the connections, and sends the replicas the WAL they still lack.
      stopSignal: 'SIGINT',
      isReady: () => isServerOf(data, superuser),
    });
    this.port = port;
    this.data = data;
    this.url = `postgres://${ROLE.name}:${ROLE.password}@127.0.0.1:${port}/${ROLE.database}`;
  }

  /** Runs a query as the superuser, by default in the service's database. */
  async query<T extends object>(text: string, values: unknown[] = [], database = ROLE.database): Promise<T[]> {
    const client = new pg.Client({ connectionString: `postgres://postgres@127.0.0.1:${this.port}/${database}` });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query<T>(text, values)).rows;
    } finally {
      await client.end();
    }
  }
}

/** A streaming replica that can be made to lag. */
export class ReplicaPart extends PostgresPart {
  readonly #primary: PostgresPart;

  constructor(workspace: Workspace, name: string, port: number, primary: PostgresPart) {
    super(workspace, name, port, REPLICA_SETTINGS);
    this.#primary = primary;
  }

  /** Pauses replay: the replica still serves queries, but shows nothing new. */
  async pauseReplay(): Promise<void> {
    await this.query('select pg_wal_replay_pause()');
    // This only requests the pause: replay continues until the startup process sees it.
    const state = 'select pg_get_wal_replay_pause_state() as state';
    while ((await this.query<{ state: string }>(state))[0]?.state !== 'paused') await delay(10);
  }

  async resumeReplay(): Promise<void> {
    await this.query('select pg_wal_replay_resume()');
  }

  /** Waits until it has replayed what the primary has committed so far. */
  async catchUp(): Promise<void> {
    const [row] = await this.#primary.query<{ lsn: string }>('select pg_current_wal_lsn() as lsn');
    const replayed = 'select coalesce(pg_last_wal_replay_lsn() >= $1::pg_lsn, false) as done';
    while ((await this.query<{ done: boolean }>(replayed, [row?.lsn]))[0]?.done !== true) await delay(20);
  }
}

/** Starts a primary with the service's role and an empty database. */
export async function startPrimary(workspace: Workspace): Promise<PostgresPart> {
  const primary = new PostgresPart(workspace, 'primary', await findLastingPort(), PRIMARY_SETTINGS);
  await initializePostgres(findInstalledPrograms(), primary.data, workspace.runAs);
  writeFileSync(join(primary.data, 'pg_hba.conf'), ACCESS);
  await primary.start();
  await primary.query(`create role ${ROLE.name} login password '${ROLE.password}'`, [], 'postgres');
  for (const [name, value] of Object.entries(SERVING_SETTINGS)) {
    // Behind PgBouncer, a service cannot set these itself.
    await primary.query(`alter role ${ROLE.name} set ${name} = '${value}'`, [], 'postgres');
  }
  await primary.query(`create database ${ROLE.database} owner ${ROLE.name}`, [], 'postgres');
  return primary;
}

/** Starts an asynchronous streaming replica of a running primary. */
export async function startReplica(workspace: Workspace, name: string, primary: PostgresPart): Promise<ReplicaPart> {
  const replica = new ReplicaPart(workspace, name, await findLastingPort(), primary);
  const copy = join(findInstalledPrograms(), 'pg_basebackup');
  if (!existsSync(copy)) throw new Error(`there is no ${copy}: install postgresql-client`);
  makeDataFolder(replica.data, workspace.runAs);
  const source = `postgres://postgres@127.0.0.1:${primary.port}/?application_name=${name}`;
  // The slot makes the primary retain the WAL that the replica lacks, even while the replica is down.
  const slot = ['--create-slot', `--slot=${name.replace('-', '_')}`];
  const options = ['--write-recovery-conf', '--wal-method=stream', '--checkpoint=fast', '--no-sync', ...slot];
  await workspace.run(copy, `--dbname=${source}`, `--pgdata=${replica.data}`, ...options);
  await replica.start();
  return replica;
}

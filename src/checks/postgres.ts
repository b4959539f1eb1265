import { sql } from 'kysely';
import type { Environment } from '../config.ts';
import type { Database } from '../database/database.ts';
import { SERVING_SETTINGS } from '../database/postgres/postgres.ts';
import { readRevision, timestampOf, type Revision } from '../database/revision.ts';
import { readValue } from '../database/statement.ts';
import type { Clock } from '../timestamp.ts';
import { readAbilities, type TablePrivilege, onPostgres } from './postgres-server.ts';
import { checkContents, CLOCK_TOLERANCE_MS } from './contents.ts';
import { fail, ok, warn, type Finding } from './finding.ts';
import { findBlockers } from './locks.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { displayUrlOf } from '../printable.ts';

/** The primary's state, which the replica is compared with. */
export interface PrimaryState {
  /** See `readIdentity`. */
  readonly identity: string | null;
  readonly revision: Revision;
}

/** Checks the primary, and what this role can do there. */
export async function checkPrimary(
  url: string,
  environment: Environment,
  clock: Clock,
): Promise<{ findings: Finding[]; state: PrimaryState | null }> {
  const about = `database ${displayUrlOf(url)}`;
  let state: PrimaryState | null = null;
  const findings = await onPostgres({ about, url, setting: 'PDS_DATABASE_URL' }, async (database) => {
    const { findings: permissions, mayRead } = await checkPermissions(database);
    const found = [
      ...(await checkServer(about, database)),
      ...(await checkConnectionSettings(about, database)),
      await checkSkew(database, clock),
      ...permissions,
    ];
    if (!mayRead) return found;
    const blockers = await findBlockers(database);
    // The other checks would wait for the same locks.
    if (blockers.length > 0) return [...found, ...blockers];
    const { findings: contents, isReadable } = await checkContents(database, environment, clock);
    if (isReadable) state = { identity: await readIdentity(database), revision: await readRevision(database.kysely) };
    return [...found, ...contents];
  });
  return { findings, state };
}

async function checkServer(about: string, { kysely }: Database): Promise<Finding[]> {
  const { rows } = await sql<{ version: string; standby: boolean; encoding: string }>`
    select current_setting('server_version') as version, pg_is_in_recovery() as standby,
      current_setting('server_encoding') as encoding`.execute(kysely);
  const { version = '', standby = false, encoding = '' } = rows[0] ?? {};
  const findings: Finding[] = [];
  if (Number.parseInt(version) < 15) findings.push(fail(about, 'it is too old', 'Upgrade to PostgreSQL 15 or newer.'));
  if (standby) {
    findings.push(fail(about, 'it is a read-only standby', 'Set PDS_DATABASE_URL to the primary.'));
  }
  if (encoding !== 'UTF8') {
    findings.push(fail(about, `its encoding is ${encoding}`, 'Create the database again with encoding UTF8.'));
  }
  return [ok(about, `PostgreSQL ${version.replace(/ .*/, '')} responds`), ...findings];
}

/** Behind PgBouncer the role must have the settings that the service otherwise passes at connect. */
async function checkConnectionSettings(about: string, { kysely }: Database): Promise<Finding[]> {
  const { rows } = await sql<{ name: string; value: string }>`
    select name, current_setting(name) as value from unnest(${Object.keys(SERVING_SETTINGS)}::text[]) as name`.execute(
    kysely,
  );
  const wanted: Readonly<Record<string, string>> = SERVING_SETTINGS;
  const other = rows.filter(({ name, value }) => wanted[name] !== value);
  if (other.length === 0) return [];
  const message = `serving connections have ${other.map(({ name, value }) => `${name} = ${value}`).join(', ')}`;
  const should = other.map(({ name }) => `${name} = ${wanted[name]}`).join(', ');
  return [warn(about, message, `Set ${should} on the role, as "pds roles" does for the reader.`)];
}

/** Compares the server's clock with ours, within the precision that the query's duration allows. */
async function checkSkew(database: Database, clock: Clock): Promise<Finding> {
  const startedAtMs = clock();
  const query = sql`select (extract(epoch from clock_timestamp()) * 1000)::bigint as value`;
  const theirs = (await readValue<number>(database, query)) ?? startedAtMs;
  const receivedAtMs = clock();
  const skewMs = Math.max(startedAtMs - theirs, theirs - receivedAtMs, 0);
  if (skewMs <= CLOCK_TOLERANCE_MS) return ok('clock', "this machine's and PostgreSQL's clocks agree within a second");
  const message = `this machine's and PostgreSQL's clocks are ${(skewMs / 1_000).toFixed(1)} seconds apart`;
  return warn('clock', message, "Synchronize both with NTP: this machine's clock dates events and expires keys.");
}

async function checkPermissions(database: Database): Promise<{ findings: Finding[]; mayRead: boolean }> {
  const topic = 'permissions';
  const { me, hasTables, mayCreate, isOwner, lacksToServe, lacksForCommands } = await readAbilities(database);
  if (!hasTables) {
    if (mayCreate) return { findings: [ok(topic, `${me} can create the tables`)], mayRead: true };
    const advice = `Run "pds migrate" as the owner of the database, or grant ${me} CREATE on it.`;
    return { findings: [fail(topic, `there are no tables, and ${me} cannot create them`, advice)], mayRead: false };
  }
  const abilities = [
    ...(lacksToServe.length === 0 ? ['serve'] : []),
    ...(lacksForCommands.length === 0 ? ['run commands'] : []),
    ...(isOwner ? ['migrate'] : []),
  ];
  if (abilities.length > 0) return { findings: [ok(topic, `${me} can ${abilities.join(', ')}`)], mayRead: true };
  const message = `${me} can neither serve (it lacks ${listed(lacksToServe)}) nor run commands (${listed(lacksForCommands)})`;
  const advice = 'Run "pds roles" as the owner of the tables, also after each "pds migrate".';
  return { findings: [fail(topic, message, advice)], mayRead: false };
}

function listed(lacks: readonly TablePrivilege[]): string {
  const first = lacks.slice(0, 3).map(({ privilege, table }) => `${privilege} on ${table}`);
  return [...first, ...(lacks.length > first.length ? [`${lacks.length - first.length} more`] : [])].join(', ');
}

/** Identifies a database and its replicas, and no other; null if this role cannot read it. */
async function readIdentity(database: Database): Promise<string | null> {
  const isAllowed = sql`select has_function_privilege('pg_control_system()', 'execute') as value`;
  if ((await readValue<boolean>(database, isAllowed)) !== true) return null;
  const identity = sql`select concat_ws('/', (select system_identifier from pg_control_system()), oid) as value
    from pg_catalog.pg_database where datname = current_database()`;
  return readValue(database, identity);
}

/** How long a replica can take to reach the primary's earlier revision. */
const CATCH_UP_TIMEOUT_MS = 2_000;
const POLL_INTERVAL_MS = 100;

/** Checks the replica. The primary serves the reads that a replica cannot. */
export function checkReplica(url: string, primary: PrimaryState | null): Promise<Finding[]> {
  const about = `replica ${displayUrlOf(url)}`;
  return onPostgres({ about, url, setting: 'PDS_REPLICA_URL' }, async (database) => [
    (await findMismatch(about, database, primary)) ?? (await checkProgress(about, database, primary)),
  ]);
}

async function findMismatch(about: string, database: Database, primary: PrimaryState | null): Promise<Finding | null> {
  const isStandby = await readValue<boolean>(database, sql`select pg_is_in_recovery() as value`);
  const identity = await readIdentity(database);
  if (primary?.identity != null && identity !== null && identity !== primary.identity) {
    const advice = 'Correct or remove PDS_REPLICA_URL: it would serve other data.';
    return fail(about, 'it is a replica of a different database', advice);
  }
  if (isStandby !== true) {
    const advice = 'Remove PDS_REPLICA_URL. If it was promoted, set PDS_DATABASE_URL to it and run "pds recover".';
    return fail(about, 'it is not a replica: it accepts writes', advice);
  }
  const { me, hasTables, lacksToServe } = await readAbilities(database);
  const unread = lacksToServe.filter(({ privilege }) => privilege === 'select');
  if (!hasTables || unread.length > 0) {
    const message = hasTables ? `${me} cannot read ${unread[0]?.table ?? ''}` : 'the tables are missing';
    return fail(about, message, 'Use the database of PDS_DATABASE_URL in its URL, and a role that can serve.');
  }
  return null;
}

async function checkProgress(about: string, database: Database, primary: PrimaryState | null): Promise<Finding> {
  const isBehind = async (): Promise<boolean> => {
    if (primary === null) return false;
    const revision = await readRevision(database.kysely);
    // The same timestamp with another token belongs to changes that the primary has lost.
    return revision !== primary.revision && timestampOf(revision) <= timestampOf(primary.revision);
  };
  const deadlineMs = performance.now() + CATCH_UP_TIMEOUT_MS;
  let behind = await isBehind();
  while (behind && performance.now() < deadlineMs) {
    await delay(POLL_INTERVAL_MS);
    behind = await isBehind();
  }
  const { rows } = await sql<{ paused: boolean; receives: boolean }>`
    select pg_is_wal_replay_paused() as paused,
      exists (select from pg_stat_wal_receiver where pid is not null) as receives`.execute(database.kysely);
  const { paused = false, receives = false } = rows[0] ?? {};
  const progress = behind ? "it lacks the primary's latest changes, and is not read from" : 'it is up to date';
  if (paused) return warn(about, `${progress}; its WAL replay is paused`, 'Run "select pg_wal_replay_resume()" on it.');
  if (!receives) {
    const advice =
      'Check that it can reach the primary. After a promotion, create it again: it follows a timeline that has ended.';
    return warn(about, `${progress}; it receives nothing from its primary`, advice);
  }
  if (behind) return warn(about, progress, 'It is used again once it has caught up. If it never does, it is too slow.');
  return ok(about, primary === null ? 'it responds, but could not be compared with the primary' : progress);
}

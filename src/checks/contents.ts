import { sql } from 'kysely';
import { keyEnvironmentOf } from '../access/keys.ts';
import type { Environment } from '../config.ts';
import type { Database } from '../database/database.ts';
import { SchemaVersionError } from '../database/errors.ts';
import { isHistoryOther } from '../database/history.ts';
import { readDeferred, readSchemaState } from '../database/migrator.ts';
import { EPOCH, formatTimestamp, type Clock } from '../timestamp.ts';
import { fail, ok, warn, type Finding } from './finding.ts';

/** Synchronized clocks differ by less. */
export const CLOCK_TOLERANCE_MS = 1_000;

/**
 * Checks a database's contents, on either engine.
 *
 * @returns `isReadable` if this version can serve its schema; if not, nothing else is checked.
 */
export async function checkContents(
  database: Database,
  environment: Environment,
  clock: Clock,
): Promise<{ findings: Finding[]; isReadable: boolean }> {
  const { finding, isReadable } = await checkSchema(database);
  if (!isReadable) return { findings: [finding], isReadable };
  const deferred = await checkDeferred(database);
  const history = await checkHistory(database);
  const lastEvent = await checkLastEvent(database, clock);
  const keys = await checkKeys(database, environment, clock);
  return { findings: [finding, ...deferred, ...history, lastEvent, keys], isReadable };
}

async function checkSchema(database: Database): Promise<{ finding: Finding; isReadable: boolean }> {
  const about = 'schema';
  const unreadable = (finding: Finding) => ({ finding, isReadable: false });
  try {
    const { isEmpty, pending } = await readSchemaState(database, 'serve');
    if (isEmpty) return unreadable(warn(about, 'the database is empty', EMPTY_ADVICE));
    if (pending.length > 0) {
      const message = `it is older than this version (pending: ${pending.join(', ')})`;
      return unreadable(
        database.engine === 'postgres'
          ? fail(about, message, 'run "pds migrate" as the owner of the tables, then "pds roles" again if it was used')
          : warn(about, message, 'the next command, or the next start, migrates it'),
      );
    }
  } catch (error) {
    if (!(error instanceof SchemaVersionError)) throw error;
    return unreadable(fail(about, error.message, 'until then, this version neither serves nor runs commands'));
  }
  try {
    await readSchemaState(database, 'command');
    return { finding: ok(about, 'it is that of this version'), isReadable: true };
  } catch (error) {
    if (!(error instanceof SchemaVersionError)) throw error;
    const advice = 'this version serves on it, and runs no commands: bring the upgrade to its end';
    return { finding: warn(about, error.message, advice), isReadable: true };
  }
}

/** Migrations deferred until no server of the previous version is left. */
async function checkDeferred(database: Database): Promise<Finding[]> {
  const deferred = await readDeferred(database);
  if (deferred.length === 0) return [];
  const message = `it still has what only servers of the version before need (deferred: ${deferred.join(', ')})`;
  const advice =
    'replace these servers, then run "pds migrate --finish". Until then imports are slower and the database is larger';
  return [warn('schema', message, advice)];
}

/** Advice for a missing or empty database. */
export const EMPTY_ADVICE =
  'is PDS_DATABASE_URL right? If it is to be a new one: "pds import DIR", "pds migrate" or the first start prepares it';

/** Checks that commit timestamps continue from those that clients have seen. */
async function checkHistory(database: Database): Promise<Finding[]> {
  const about = 'history';
  const findings: Finding[] = [];
  // Checked twice: SQLite reads one file after the other, and an import may have finished in between.
  const ahead = (await findUnpublished(database)) && (await findUnpublished(database));
  if (ahead !== null) {
    const message = `partners and keys know of a publication at ${ahead}, which the catalog does not hold`;
    const advice = 'the two are of different moments: restore both from one backup, or run "pds recover"';
    findings.push(fail(about, message, advice));
  }
  if (await isHistoryOther(database)) {
    const message = 'the server has been promoted or restored since the instants in the database were recorded';
    findings.push(fail(about, message, 'run "pds recover", or the next sync of partners may miss what changed back'));
  }
  return findings;
}

/** The timestamp of the last publication known to `access`, if the catalog lacks it; otherwise null. */
async function findUnpublished({ kysely }: Database): Promise<string | null> {
  const { rows } = await sql<{ announced: string }>`select last_publication as announced from access.clock
    where last_publication > coalesce((select max(instant) from catalog.publications), ${EPOCH})`.execute(kysely);
  return rows[0]?.announced ?? null;
}

async function checkLastEvent({ kysely }: Database, clock: Clock): Promise<Finding> {
  const { last_instant: last } = await kysely
    .selectFrom('access.clock')
    .select('last_instant')
    .executeTakeFirstOrThrow();
  if (last > formatTimestamp(clock() + CLOCK_TOLERANCE_MS)) {
    const message = `this machine's clock says ${formatTimestamp(clock())}, and the last event was at ${last}`;
    const advice =
      'set the clock right. If it was ahead then: what follows is dated just after that event, and nobody loses anything';
    return warn('clock', message, advice);
  }
  return ok(
    'clock',
    last === EPOCH ? 'nothing was published yet' : `this machine's is later than the last event, at ${last}`,
  );
}

/** Checks that the issued keys are valid in this environment: another environment's database opens just as well. */
async function checkKeys({ kysely }: Database, environment: Environment, clock: Clock): Promise<Finding> {
  const about = 'keys';
  const kind = keyEnvironmentOf(environment);
  const counts = await kysely
    .selectFrom('access.keys')
    .where('revoked_at', 'is', null)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', formatTimestamp(clock()))]))
    .select(['environment', (eb) => eb.fn.countAll<number>().as('keys')])
    .groupBy('environment')
    .execute();
  const good = counts.find((row) => row.environment === kind)?.keys ?? 0;
  const refused = counts.find((row) => row.environment !== kind);
  if (good > 0 || refused === undefined) return ok(about, `${good} good in ${environment}`);
  const message = `none is good in ${environment}, which refuses those there are: ${refused.keys} of the kind ${refused.environment}`;
  return warn(about, message, 'is PDS_ENVIRONMENT right, and PDS_DATABASE_URL?');
}

import { sql } from 'kysely';
import { findIdleGrants, listGrantedPartners, namedOwners, type IdleGrants } from '../access/grant-check.ts';
import { keyEnvironmentOf, type KeyEnvironment } from '../access/keys.ts';
import { listOwners } from '../access/visibility/owners.ts';
import type { Environment, DatabaseConfig } from '../config.ts';
import { readLastEvent } from '../database/event-log.ts';
import { type Database, SchemaVersionError } from '../database/database.ts';
import { hasTimelineChanged, readLoss } from '../database/postgres/timeline.ts';
import { describeUpgrade, readSchemaState } from '../database/migrations/migrator.ts';
import { EPOCH, formatTimestamp, type Clock } from '../timestamp.ts';
import { fail, ok, warn, type Finding } from './finding.ts';
import { openForLongReads, openForServing } from '../database/open.ts';
import { lacksTerms } from '../index/lacks-terms.ts';
import type { OnProgress } from '../database/catalog-lock.ts';
import { countRows } from '../database/rows.ts';
import { firstRow, readValue } from '../database/statement.ts';
import { FAULTS, verifyIndex, verifySample, type IndexFindings } from './verify-index.ts';

/** Synchronized clocks differ by less. */
export const CLOCK_TOLERANCE_MS = 1_000;

/** Checks a database's contents. `isReadable`: this version can serve its schema; if not, nothing else is checked. */
export async function checkContents(
  database: Database,
  environment: Environment,
  clock: Clock,
): Promise<{ findings: Finding[]; isReadable: boolean }> {
  const { finding, isReadable } = await checkSchema(database);
  if (!isReadable) return { findings: [finding], isReadable };
  const timeline = await checkTimeline(database);
  const lastEvent = await checkLastEvent(database, clock);
  const keys = await checkKeys(database, environment, clock);
  const feed = await checkFeed(database);
  return { findings: [finding, ...timeline, lastEvent, feed, ...(await checkGrants(database)), keys], isReadable };
}

async function checkSchema(database: Database): Promise<{ finding: Finding; isReadable: boolean }> {
  const about = 'schema';
  const unreadable = (finding: Finding) => ({ finding, isReadable: false });
  try {
    const { isEmpty, pending } = await readSchemaState(database, 'serve');
    if (isEmpty) return unreadable(warn(about, 'the database is empty', EMPTY_ADVICE));
    if (pending.length > 0) {
      const message = `it is older than this version (pending: ${pending.join(', ')})`;
      return unreadable(fail(about, message, describeUpgrade(database)));
    }
  } catch (error) {
    if (!(error instanceof SchemaVersionError)) throw error;
    return unreadable(fail(about, error.message, 'Fix this first: this version can neither serve nor run commands.'));
  }
  try {
    await readSchemaState(database, 'command');
    return { finding: ok(about, 'it matches this version'), isReadable: true };
  } catch (error) {
    if (!(error instanceof SchemaVersionError)) throw error;
    const advice = 'This version can serve, but not run commands. Complete the upgrade.';
    return { finding: warn(about, error.message, advice), isReadable: true };
  }
}

/** Advice for a missing or empty database. */
export const EMPTY_ADVICE =
  'Check PDS_DATABASE_URL. To create a new database, run "pds import DIR" or "pds migrate", or start a server.';

/** Checks that commit timestamps continue from those that clients have seen. */
async function checkTimeline(database: Database): Promise<Finding[]> {
  const about = 'history';
  const findings: Finding[] = [];
  // Checked twice: SQLite reads one file after the other, and an import may have finished in between.
  const ahead = (await findUnpublished(database)) && (await findUnpublished(database));
  if (ahead !== null) {
    const message = `access data refers to a release at ${ahead} that the catalog does not contain`;
    const advice = 'They were restored from different times: restore both from one backup, or run "pds recover".';
    findings.push(fail(about, message, advice));
  }
  if (await hasTimelineChanged(database)) {
    const message = 'the server was promoted or restored after this database recorded its last timestamps';
    findings.push(fail(about, message, 'Run "pds recover", or the next sync of partners may miss reverted changes.'));
  }
  const loss = await readLoss(database);
  if (loss !== null) {
    const message =
      `changes are lost, as a service noticed at ${loss.noticedAt}: the database lacks some made after ${loss.since}. ` +
      'Keys revoked since then can work again';
    const advice =
      'Save what the old primary has, review keys and partners, and run "pds recover", which ends this message.';
    findings.push(fail(about, message, advice));
  }
  return findings;
}

/** The timestamp of the last release in the log, if the catalog lacks it and no reset followed; otherwise null. */
function findUnpublished(database: Database): Promise<string | null> {
  const unpublished = sql`select at as value from access.events as event where partner_id is null
    and not exists (select 1 from access.events as later where later.partner_id is null and later.at > event.at)
    and what = 'release' and not exists (select 1 from catalog.releases where number = event.release)`;
  return readValue(database, unpublished);
}

async function checkLastEvent(database: Database, clock: Clock): Promise<Finding> {
  const last = await readLastEvent(database);
  if (last > formatTimestamp(clock() + CLOCK_TOLERANCE_MS)) {
    const message = `this machine's clock is at ${formatTimestamp(clock())}, before the last event at ${last}`;
    const advice =
      'Correct the clock. If it was ahead at that event, new events are dated just after it, and no partner misses any.';
    return warn('clock', message, advice);
  }
  return ok(
    'clock',
    last === EPOCH ? 'there are no events yet' : `this machine's clock is after the last event, at ${last}`,
  );
}

async function checkFeed(database: Database): Promise<Finding> {
  const about = 'changes';
  // Checked twice: SQLite reads one file after the other, and a release may have been committed in between.
  const wrong = (await findFeedProblem(database)) && (await findFeedProblem(database));
  if (wrong !== null)
    return fail(about, wrong, 'Run "pds recover": each client of the feed then gets every record once.');
  const departures = await countRows(database, 'catalog.departures');
  return ok(about, `${departures} removals are stored for clients of the feed`);
}

async function findFeedProblem({ kysely }: Database): Promise<string | null> {
  const { rows } = await sql<{ unknown: number; disordered: number }>`select
    (select count(*) from catalog.departures
      where not exists (select 1 from catalog.releases where number = release)) as unknown,
    (select count(*) from access.events as event where partner_id is null and release <= (
      select release from access.events as earlier where earlier.at < event.at order by earlier.at desc limit 1)
    ) as disordered`.execute(kysely);
  const { unknown, disordered } = firstRow(rows);
  if (unknown > 0) return `${unknown} removals are of releases that the catalog does not contain`;
  return disordered > 0 ? `${disordered} releases in the log have a number not above that of the event before` : null;
}

/** Partners named in one finding. */
const MAX_NAMED = 20;

/** Warns of grants that name nothing, and of partners that see nothing. */
async function checkGrants(database: Database): Promise<Finding[]> {
  const about = 'grants';
  const idle = await findIdleGrants(database, await listGrantedPartners(database));
  const dangling = idle.filter((grants) => listOwners(grants).length > 0);
  const blind = idle.filter(({ seesNothing }) => seesNothing);
  const listed = (partners: readonly IdleGrants[], describe: (partner: IdleGrants) => string): string => {
    const more = partners.length - MAX_NAMED;
    return partners.slice(0, MAX_NAMED).map(describe).join('; ') + (more > 0 ? `; and ${more} more` : '');
  };
  const findings: Finding[] = [];
  if (dangling.length > 0) {
    const named = listed(dangling, (grants) => `${grants.partner} (${namedOwners(grants)})`);
    const advice =
      'A renamed owner can have another id: find it with "pds find" and grant it. Revoke the grant of the old id.';
    findings.push(warn(about, `the catalog does not contain what these partners are granted: ${named}`, advice));
  }
  if (blind.length > 0) {
    const named = listed(blind, ({ partner }) => partner);
    const advice =
      'See their grants with "pds partner show NAME", and grant what they may see with "pds partner grant".';
    findings.push(warn(about, `these partners see no contract, solicitation or supplier: ${named}`, advice));
  }
  return findings.length > 0 ? findings : [ok(about, 'every grant names something, and every partner sees something')];
}

/** Checks that the issued keys are valid in this environment: another environment's database opens just as well. */
async function checkKeys({ kysely }: Database, environment: Environment, clock: Clock): Promise<Finding> {
  const about = 'keys';
  const kind = keyEnvironmentOf(environment);
  const { rows: counts } = await sql<{ environment: KeyEnvironment; keys: number }>`
    select environment, count(*) as keys from access.keys
    where revoked_at is null and (expires_at is null or expires_at > ${formatTimestamp(clock())})
    group by environment`.execute(kysely);
  const active = counts.find((row) => row.environment === kind)?.keys ?? 0;
  const refused = counts.find((row) => row.environment !== kind);
  if (active > 0 || refused === undefined) return ok(about, `${active} active in ${environment}`);
  const message = `none is valid in ${environment}, which rejects the ${refused.keys} ${refused.environment} keys`;
  return warn(about, message, 'Check PDS_ENVIRONMENT and PDS_DATABASE_URL.');
}

const INDEX = 'index';

/** Compares a random sample of the index with the records. Takes up to about two seconds. */
export async function checkIndexSample(config: DatabaseConfig): Promise<Finding[]> {
  const database = openForServing(config);
  try {
    if (await lacksTerms(database)) return [OUTDATED];
    const findings = await verifySample(database);
    return describeFindings(findings, (size) => `a sample matches the records (${size}); --full checks all of it`);
  } finally {
    // Not awaited: a hanging server would not close its connections.
    void database.close().catch(() => undefined);
  }
}

/** Compares the whole index with the records. Calls `onProgress` regularly: an error it throws ends the comparison. */
export async function checkWholeIndex(config: DatabaseConfig, onProgress: OnProgress): Promise<Finding[]> {
  await using database = openForLongReads(config);
  if (await lacksTerms(database)) return [OUTDATED];
  const findings = await verifyIndex(database, onProgress);
  return describeFindings(findings, (size) => `all of it matches the records (${size})`);
}

const OUTDATED = fail(
  INDEX,
  'it lacks terms, since an older version changed it last',
  'Run "pds reindex": until then, requests with "nigp" or "is_open=true" get 500.',
);

const ADVICE =
  'Run "pds reindex": until then, lists and counts can lack records or show wrong ones. If it happens again, look for the cause, ' +
  'such as a failing disk or a program that writes to the tables';

function describeFindings(findings: readonly IndexFindings[], success: (size: string) => string): Finding[] {
  const failed = findings
    .filter(({ faults }) => faults.size > 0)
    .map(({ kind, faults }) => {
      const described = [...faults].map(([fault, { count, example }]) => {
        const { one, many } = FAULTS[fault];
        return `${count} ${count === 1 ? one : many} (${count === 1 ? '' : 'first: '}${example})`;
      });
      return fail(INDEX, `the index of ${kind} has ${described.join(', ')}`, ADVICE);
    });
  if (failed.length > 0) return failed;
  const sumOf = (field: 'records' | 'rows') => findings.reduce((sum, each) => sum + each[field], 0);
  return [ok(INDEX, success(`${sumOf('records')} records, ${sumOf('rows')} rows`))];
}

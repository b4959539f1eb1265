import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { grant } from '../../src/access/grant-admin.ts';
import { issueKey, revokeKey } from '../../src/access/key-admin.ts';
import { createPartner } from '../../src/access/partner-admin.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrations/migrator.ts';
import { openForCommands } from '../../src/database/open.ts';
import { publish } from '../../src/publishing/publish.ts';
import { listSources } from '../../src/publishing/read/source.ts';
import { transfer } from '../../src/recovery/transfer.ts';
import { databaseUrlOf, runPds, runPdsSignalled, type Outcome } from '../commands/run-pds.ts';
import { PARTNERS, withoutRequestId } from '../conformance/modelled-service.ts';
import type { HttpResponse } from '../support/client.ts';
import { createDirectories } from '../support/data.ts';
import { createDatabaseOf, createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { startServing } from '../support/serving-process.ts';
import { storeUsage } from '../usage/recording.ts';

const LISTS = [
  '/v1/solicitations?limit=7',
  '/v1/solicitations?status=open&q=bridge',
  '/v1/contracts?limit=5',
  '/v1/suppliers?limit=3',
  '/v1/suppliers?certifications=MBE',
];
const PATHS = [
  ...LISTS,
  '/v1/solicitations/count',
  '/v1/contracts/count?q=services',
  '/v1/lead-entities',
  '/v1/lead-entities?q=city',
  '/v1/coops',
  '/v1/city-services',
  '/v1/certifications',
  '/v1/contracts/none',
  '/v1/contracts?limit=0',
];

/** All records, some through grants of both kinds, none. */
const SOME_PARTNERS = PARTNERS.filter(({ name }) => ['everything', 'mixed', 'nothing'].includes(name));

const stack = forEachTest(() => new AsyncDisposableStack());

/** Every row of every table as text, without what is of this database alone. */
async function dump({ engine, kysely }: OpenDatabase): Promise<Record<string, string[]>> {
  const { rows: tables } = await sql<{ name: string }>`${sql.raw(
    engine === 'sqlite'
      ? `select 'catalog.' || name as name from catalog.sqlite_schema where type = 'table'
         union select 'access.' || name from access.sqlite_schema where type = 'table'`
      : `select schemaname || '.' || tablename as name from pg_tables where schemaname in ('catalog', 'access')`,
  )}`.execute(kysely);
  const dumped: Record<string, string[]> = {};
  for (const { name } of tables.filter((table) => !table.name.includes('sqlite_'))) {
    const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(name)}`.execute(kysely);
    const isOwn = (row: Record<string, unknown>) =>
      (name === 'access.settings' && row['name'] === 'history') ||
      (name === 'access.audit' && row['action'] === 'transfer');
    const withoutFile = (row: Record<string, unknown>) =>
      name === 'access.events' ? { ...row, file: null, made_from: null } : row;
    dumped[name] = rows.filter((row) => !isOwn(row)).map((row) => asText(withoutFile(row)));
    dumped[name].sort();
  }
  return dumped;
}

function asText(row: Record<string, unknown>): string {
  const fields = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
  ]);
  return JSON.stringify(Object.fromEntries(fields.toSorted()));
}

const createSource = async (): Promise<TestDatabase> => stack.use(await createDatabaseOf('sqlite'));
const createTarget = async (): Promise<TestDatabase> => stack.use(await createEmptyDatabase('postgres'));

const runTransfer = (from: TestDatabase, to: TestDatabase): Promise<Outcome> =>
  runPds(['transfer', databaseUrlOf(to.config), '--json'], from.settings);

/** Serves a database by `pds serve`. */
const serve = async ({ config }: TestDatabase) => (await stack.use(startServing(config)).client()).get;

const HEADERS = ['content-type', 'etag', 'cache-control', 'vary', 'x-sync-watermark'];
const comparable = (response: HttpResponse) => ({
  status: response.status,
  headers: HEADERS.map((name) => response.headers[name]),
  body: withoutRequestId(response),
});

describe('a transfer from SQLite to PostgreSQL', { timeout: 180_000 }, () => {
  test('gives the same tables, responses, cursors and watermarks', async () => {
    const records = createDirectories(2);
    stack.defer(() => records.remove());
    const source = await createSource();
    const { database } = source;
    const publishAll = async (directories: readonly string[]): Promise<void> => {
      for (const path of directories)
        await publish(database, await listSources(path), { clock: Date.now, blockSize: 1_024 });
    };
    await publishAll(records.first);
    const partners = [];
    for (const setup of SOME_PARTNERS) partners.push(await makePartner(database, Date.now, setup));
    await publishAll(records.later);
    const revoked = await issueKey(database, Date.now, 'mixed', { environment: 'test', lifetimeMs: null });
    await revokeKey(database, Date.now, revoked.details.id);
    await storeUsage(database, { partner_id: 1, requests: 2 ** 40, records: 3, failed: 1 });

    const before = await dump(database);
    const target = await createTarget();
    const outcome = await runTransfer(source, target);
    expect(outcome, outcome.stderr).toMatchObject({ code: 0 });
    expect(JSON.parse(outcome.stdout)).toMatchObject({
      engine: 'postgres',
      tables: { 'access.partners': SOME_PARTNERS.length, 'access.keys': SOME_PARTNERS.length + 1, 'access.usage': 1 },
    });
    expect(await dump(target.database)).toEqual(before);

    const [asBefore, now] = [await serve(source), await serve(target)];
    let nextPages = 0;
    for (const { key } of partners) {
      for (const path of PATHS) {
        const first = await asBefore(path, { key });
        expect(comparable(await now(path, { key })), path).toEqual(comparable(first));
        const etag = first.headers.etag;
        if (typeof etag === 'string')
          expect(await now(path, { key, headers: { 'if-none-match': etag } }), path).toMatchObject({ status: 304 });
        if (!LISTS.includes(path)) continue;
        const { meta } = JSON.parse(first.body) as { meta: { next_cursor: string | null } };
        const watermark = String(first.headers['x-sync-watermark']);
        const since = `${path}&updated_since=${encodeURIComponent(watermark)}`;
        expect(comparable(await now(since, { key })), since).toEqual(comparable(await asBefore(since, { key })));
        if (meta.next_cursor === null) continue;
        nextPages += 1;
        const next = `${path}&cursor=${encodeURIComponent(meta.next_cursor)}`;
        expect(comparable(await now(next, { key })), next).toEqual(comparable(await asBefore(next, { key })));
      }
    }
    expect(nextPages).toBeGreaterThan(5);
    expect((await now('/v1/coops', { key: revoked.key })).status).toBe(401);

    // A sync continues with what became visible on the target; ids that it generates continue too.
    const nothing = partners.find(({ name }) => name === 'nothing');
    const { headers } = await asBefore('/v1/contracts', nothing);
    const sync = `/v1/contracts?updated_since=${encodeURIComponent(String(headers['x-sync-watermark']))}`;
    expect(JSON.parse((await now(sync, nothing)).body)).toMatchObject({ data: [] });
    const everything = { everything: true, leadEntities: [], coops: [] };
    await grant(target.database, Date.now, 'nothing', everything);
    await expect.poll(async () => (await now(sync, nothing)).body, { timeout: 5_000 }).toContain('"id"');
    await createPartner(target.database, Date.now, 'new', everything);
  });

  test('is refused if the target has been used, and changes nothing there', async () => {
    const [source, target] = [await createSource(), await createTarget()];
    await migrate(target.database, Date.now);
    await publishLines(source.database, SMALL_CATALOG);
    await createPartner(target.database, Date.now, 'theirs', { everything: false });
    const before = await dump(target.database);
    expect(await runTransfer(source, target)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: the target holds partners or records/) as string,
    });
    expect(await dump(target.database)).toEqual(before);
  });

  test.each(['SIGKILL', 'SIGTERM'] as const)('starts over after %s', async (signal) => {
    const [source, target] = [await createSource(), await createTarget()];
    await publishLines(source.database, SMALL_CATALOG);
    await createPartner(source.database, Date.now, 'acme', { everything: true });
    const command = ['transfer', databaseUrlOf(target.config)];
    const statement = 'copy "access"."keys"';
    await issueKey(source.database, Date.now, 'acme', { environment: 'test', lifetimeMs: null });
    const ended = await runPdsSignalled(command, source.settings, { signal, statement });
    expect(ended.code).toBe(signal === 'SIGKILL' ? null : 143);
    if (signal === 'SIGTERM') expect(ended.stderr).toContain('Interrupted; nothing was transferred.');
    expect((await dump(target.database))['access.partners']).toEqual([]);
    expect(await runTransfer(source, target)).toMatchObject({ code: 0 });
    expect(await dump(target.database)).toEqual(await dump(source.database));
  });

  test('makes changes of partners in the source wait', async () => {
    const [source, target] = [await createSource(), await createTarget()];
    await publishLines(source.database, SMALL_CATALOG);
    const other = openForCommands(source.config);
    stack.defer(() => other.close());
    await sql`pragma busy_timeout = 20`.execute(other.kysely);
    const changes: Promise<unknown>[] = [];
    let outcome = 'waiting';
    await transfer(source.database, target.database, {
      clock: Date.now,
      onProgress: () => {
        if (changes.length > 0) return;
        const change = createPartner(other, Date.now, 'late', { everything: true });
        changes.push(
          change.then(
            () => (outcome = 'made'),
            () => (outcome = 'refused'),
          ),
        );
      },
      onCommit: () => expect(outcome).not.toBe('made'),
    });
    await Promise.all(changes);
    expect(outcome).toBe('refused');
    expect((await dump(target.database))['access.partners']).toEqual([]);
  });
});

test('a transfer names what it accepts as a target, without its password', async () => {
  const { settings } = await createSource();
  const target = expect.stringContaining('the target must be postgres://') as string;
  const wrong = await runPds(['transfer', 'mysql://u:secret@h/db'], settings);
  expect(wrong).toMatchObject({ code: 1, stderr: target });
  expect(await runPds(['transfer', 'sqlite:other.sqlite'], settings)).toMatchObject({ code: 1, stderr: target });
  const down = await runPds(['transfer', 'postgres://u:secret@127.0.0.1:1/db'], settings);
  expect(down).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('cannot reach the database 127.0.0.1:1/db') as string,
  });
  expect(wrong.stderr + down.stderr).not.toContain('secret');
});

test('a transfer from PostgreSQL is refused, and creates nothing', async () => {
  const [source, target] = [stack.use(await createDatabaseOf('postgres')), await createTarget()];
  expect(await runTransfer(source, target)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('copies only from SQLite') as string,
  });
  expect(await dump(target.database)).toEqual({});
});

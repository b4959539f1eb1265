import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { migrate, prepareSchema, readSchemaState } from '../../src/database/migrations/migrator.ts';
import { openForCommands } from '../../src/database/open.ts';
import { MAIN, runPds } from '../commands/run-pds.ts';
import { createClient } from '../support/client.ts';
import { createEmptyDatabase, createTestDatabase, databaseForAllTests } from '../support/database.ts';
import { findFreePort } from '../support/free-port.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { becomeLaterVersion, LATER_SETTINGS, SOURCE_MAIN } from '../support/schema/later-version.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines, withImportDirectory, SMALL_CATALOG } from '../support/publishing.ts';
import { numberOfRuns } from '../support/runs.ts';
import { idsFound } from '../support/schema/search.ts';
import { startServing, type Serving } from '../support/serving-process.ts';
import { expectIntact } from '../support/sqlite-files.ts';
import { catalogVersion, RECORDS, versionOf, watch, type Watch } from './versions.ts';

/** Total for both engines. FAULT_KILLS=200 takes a few minutes. */
const KILLS = Number(process.env['FAULT_KILLS'] ?? numberOfRuns({ usually: 16, nightly: 40 }));
const SEED = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000);

/** The share of kills for each target. */
const SHARES = { import: 0.4, command: 0.25, migration: 0.15, server: 0.2 };

/** How long a killed process can block the next: PostgreSQL checks the client connection once a second. */
const LOCKS_GONE_MS = 5_000;

let key: string;
let serving: Serving;
let partner: Watch;
/** The newest published version. */
let version = 1;

const made = databaseForAllTests();
const opened = forAllTests(() => new AsyncDisposableStack());
beforeAll(async () => {
  await publishLines(made.database, catalogVersion(version));
  ({ key } = await makePartner(made.database, Date.now, { name: 'acme', everything: true }));
  serving = serve();
  partner = watch(await serving.port(), key);
  process.stderr.write(`${inject('engine')}: ${KILLS / 2} of ${KILLS} kills, FAULT_SEED=${SEED}\n`);
});

const serve = (...options: string[]): Serving => opened.use(startServing(made.config, {}, ...options));

/** The moments of a target's kills within this span, drawn from the seed. */
function moments(target: keyof typeof SHARES, spanMs: number): number[] {
  const numRuns = Math.max(1, Math.round((KILLS / 2) * SHARES[target]));
  const seed = SEED + Object.keys(SHARES).indexOf(target) + (inject('engine') === 'sqlite' ? 0 : 100);
  return fc.sample(fc.noBias(fc.integer({ min: 0, max: Math.round(spanMs) })), { numRuns, seed });
}

function start(words: readonly string[], settings: Record<string, string> = made.settings, main = MAIN) {
  const env = { PATH: process.env['PATH'], ...settings };
  const child = spawn(process.execPath, [main, ...words], { env, stdio: 'ignore' });
  return { child, exited: once(child, 'exit') };
}

/** Starts a command and kills it after this delay, unless it has exited. */
async function killAfter(delayMs: number, ...words: string[]): Promise<void> {
  const { child, exited } = start(words);
  await Promise.race([exited, delay(delayMs)]);
  child.kill('SIGKILL');
  await exited;
}

/** How long a command takes to complete. */
async function timeOf(words: readonly string[], settings?: Record<string, string>): Promise<number> {
  const startedAt = performance.now();
  expect(await start(words, settings).exited).toEqual([0, null]);
  return performance.now() - startedAt;
}

/** Asserts that the database is consistent when opened next, and returns its version. */
async function look(): Promise<{ version: number; releases: number }> {
  await using database = openForCommands(made.config);
  await prepareSchema(database, Date.now);
  const { kysely } = database;
  const releases = await kysely.selectFrom('catalog.releases').select('number').execute();
  const documents = await kysely.selectFrom('catalog.solicitations').select(['document', 'detail']).execute();
  expect(documents).toHaveLength(RECORDS);
  const found = versionOf(documents.map(({ document, detail }) => document + detail));
  expect(await idsFound(database, 'solicitations', `version${found}`)).toHaveLength(RECORDS);
  expect(await idsFound(database, 'solicitations', `version${found - 1}`)).toHaveLength(0);
  return { version: found, releases: releases.length };
}

describe('a process killed at any moment leaves consistent data, and the next one works immediately:', () => {
  test('an import', async () => {
    const spanMs = await withImportDirectory(catalogVersion((version += 1)), (directory) =>
      timeOf(['import', directory]),
    );
    for (const delayMs of moments('import', spanMs)) {
      const { releases } = await look();
      await withImportDirectory(catalogVersion(version + 1), (directory) => killAfter(delayMs, 'import', directory));
      const found = await look();
      // A later version came with exactly one new release, an unchanged one with none.
      expect([`${version} ${releases}`, `${version + 1} ${releases + 1}`]).toContain(
        `${found.version} ${found.releases}`,
      );
      version = found.version + 1;
      const startedAt = performance.now();
      await publishLines(made.database, catalogVersion(version));
      expect(performance.now() - startedAt).toBeLessThan(LOCKS_GONE_MS);
      await partner.until(version);
    }
    await expectIntact(made.database);
  }, 600_000);

  test('a command that changes partners and keys', async () => {
    const state = async () => {
      const { kysely } = made.database;
      const keys = await kysely.selectFrom('access.keys').select('id').execute();
      const trail = await kysely.selectFrom('access.audit').select('action').execute();
      const count = (action: string): number => trail.filter((entry) => entry.action === action).length;
      return { keys: keys.length, issued: count('key issue') };
    };
    const spanMs = await timeOf(['key', 'issue', 'acme']);
    const begun = await state();
    expect(begun.issued).toBeGreaterThan(0);
    for (const [index, delayMs] of moments('command', spanMs).entries()) {
      const before = await state();
      const words = index % 2 === 0 ? ['key', 'issue', 'acme'] : ['partner', 'create', `partner-${index}`];
      await killAfter(delayMs, ...words);
      const after = await state();
      // The audit trail lists exactly what was done.
      expect(after.keys - before.keys).toBe(after.issued - before.issued);
      const startedAt = performance.now();
      const { code, stdout } = await runPds(['key', 'issue', 'acme'], made.settings);
      expect(code).toBe(0);
      expect(performance.now() - startedAt).toBeLessThan(LOCKS_GONE_MS + 2 * spanMs);
      const client = await serving.client();
      expect((await client.get('/v1/coops', { key: stdout.trim() })).status).toBe(200);
    }
    await expectIntact(made.database);
  }, 600_000);

  test('a migration that another one is waiting for', async () => {
    const own = await createEmptyDatabase();
    const spanMs = await timeOf(['migrate'], own.settings);
    await own.drop();
    for (const delayMs of moments('migration', spanMs)) {
      await using stack = new AsyncDisposableStack();
      const older = stack.use(await createTestDatabase());
      await publishLines(older.database, SMALL_CATALOG);
      stack.use(becomeLaterVersion());
      const settings = { ...older.settings, ...LATER_SETTINGS };
      const [victim, other] = [1, 2].map(() => start(['migrate'], settings, SOURCE_MAIN));
      await Promise.race([victim?.exited, delay(delayMs)]);
      victim?.child.kill('SIGKILL');
      expect(await other?.exited).toEqual([0, null]);
      expect(await readSchemaState(older.database)).toEqual({ isEmpty: false, pending: [] });
      expect(await migrate(older.database, Date.now)).toEqual([]);
      const rows = await older.database.kysely
        .selectFrom('catalog.suppliers')
        .select('id')
        .orderBy('position')
        .execute();
      expect(rows.map(({ id }) => id)).toEqual(SMALL_CATALOG.suppliers.map(({ id }) => id).sort());
    }
  }, 600_000);

  test('a server, while starting or serving', async () => {
    const port = await findFreePort();
    const options = ['--port', String(port)];
    const first = serve(...options);
    const startedAt = performance.now();
    await first.port();
    const spanMs = performance.now() - startedAt;
    await first.close();
    for (const delayMs of moments('server', 2 * spanMs)) {
      const killed = serve(...options);
      const asking = killed
        .port()
        .then(() => {
          const client = createClient(`http://127.0.0.1:${port}`);
          return Promise.allSettled(Array.from({ length: 20 }, () => client.get('/v1/solicitations', { key })));
        })
        .catch(() => []);
      await delay(delayMs);
      killed.kill('SIGKILL');
      await killed.exited;
      for (const outcome of await asking) {
        if (outcome.status === 'fulfilled') expect(versionOf([outcome.value.body])).toBe(version);
      }
      const next = serve(...options);
      const client = await next.client();
      const { status, body } = await client.get('/v1/solicitations?limit=100', { key });
      expect({ status, version: versionOf([body]) }).toEqual({ status: 200, version });
      await next.close();
    }
    expect(await look()).toMatchObject({ version });
    await expectIntact(made.database);
  }, 600_000);

  test('and clients of another server notice nothing', async () => {
    const allowed = Array.from({ length: version }, (_, index) => index + 1);
    expect((await partner.end(allowed)).answers).toBeGreaterThan(10);
  });
});

import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { sql } from 'kysely';
import type { Tokens } from 'marked';
import pg from 'pg';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { issueKey } from '../../src/access/key-admin.ts';
import { revoke } from '../../src/access/grant-admin.ts';
import { setPartner, suspendPartner } from '../../src/access/partner-admin.ts';
import { listCatalogFiles } from '../../src/database/sqlite/file-names.ts';
import { DAY_MS } from '../../src/timestamp.ts';
import { databaseUrlOf, MAIN } from '../commands/run-pds.ts';
import { readTokens, translate } from '../docs/documents.ts';
import { mountSmallDisk, whyNoSmallDisk } from '../faults/small-disk.ts';
import { execute } from '../recovery/indexed-catalog.ts';
import { createClient } from '../support/client.ts';
import { startServicePart } from '../support/cluster/service.ts';
import { Workspace } from '../support/cluster/workspace.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { findFreePort, findLastingPort } from '../support/free-port.ts';
import { isInstalled } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { startTcpProxy } from '../support/network/tcp-proxy.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { overwritePage } from '../support/sqlite-files.ts';

const PAGE = 'docs/operators/troubleshooting.md';

/** A row of the page's first table. */
interface Row {
  readonly fault: string;
  readonly command: string;
  /** The output of the command, with `…` for any text. */
  readonly output: string;
}

/** A rendered cell's first code span. */
const codeIn = ({ tokens }: Tokens.TableCell): string =>
  tokens.find((token): token is Tokens.Codespan => token.type === 'codespan')?.text ?? '';

const [table] = readTokens(PAGE).filter((token): token is Tokens.Table => token.type === 'table');
const ROWS = (table?.rows ?? []).map(([see, run, says]): Row => {
  const [, fault = ''] = /^\*\*(.+?):?\*\*/.exec(see?.text ?? '') ?? [];
  return { fault, command: run ? codeIn(run) : '', output: says ? codeIn(says) : '' };
});

/** Matches an output that has what a row says on one line, with any other numbers but 0. */
function patternOf({ output }: Row): RegExp {
  const words = output.split(/\s+/).map((word) => {
    if (/^[\d,]+$/.test(word)) return '[1-9][\\d,]*';
    return word.split('…').map(RegExp.escape).join('.*');
  });
  return new RegExp(words.join(' +').replaceAll(' +.* +', ' .*'));
}

type Settings = Readonly<Record<string, string>>;

/** Causes a fault in the database, or returns settings of the command that cause it. */
type Cause<T = unknown> = (made: TestDatabase, stack: AsyncDisposableStack, key: string) => Promise<T>;

/** A fault of the table: its only engine, if it has one, and whether this machine cannot cause it (`unless`). */
interface Fault {
  readonly on?: 'sqlite' | 'postgres';
  readonly unless?: boolean;
  readonly cause?: Cause;
  readonly settings?: Cause<Settings>;
}

let adminPort: number;

const workspace = forAllTests(() => new Workspace());
beforeAll(async () => {
  adminPort = await findLastingPort();
  const bin = workspace.path('bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'pds'), `#!/bin/sh\nexec ${process.execPath} ${MAIN} "$@"\n`, { mode: 0o755 });
});

/** Runs a command as the page prints it, but for the port. Returns what a terminal shows. */
async function run(command: string, settings: Settings): Promise<string> {
  const script = `exec 2>&1\n${translate(command, { ':8081': `:${adminPort}` })}`;
  const env = { PATH: `${workspace.path('bin')}:${process.env['PATH'] ?? ''}`, ...settings };
  return text(spawn('bash', ['-c', script], { env, stdio: ['ignore', 'pipe', 'inherit'] }).stdout);
}

/** A database with records and the partner of the page, which sees the contract of the page. */
async function healthy(stack: AsyncDisposableStack): Promise<{ made: TestDatabase; key: string }> {
  const made = stack.use(await createTestDatabase());
  await publishLines(made.database, SMALL_CATALOG);
  const { key } = await makePartner(made.database, Date.now, { name: 'acme', leadEntities: ['le_a'] });
  return { made, key };
}

async function serve(made: TestDatabase, stack: AsyncDisposableStack) {
  const service = await startServicePart(workspace, databaseUrlOf(made.config), { PDS_ADMIN_PORT: String(adminPort) });
  stack.defer(async () => {
    if (service.isRunning()) await service.stop('SIGKILL');
  });
  return service;
}

const NO_DISK = whyNoSmallDisk();

/** For a busy machine. */
const SOON = { timeout: 15_000, interval: 50 };

/** The faults of the table by its names. */
const FAULTS: Readonly<Record<string, Fault>> = {
  'Slow database': {
    on: 'postgres',
    settings: async ({ config }, stack) => {
      const url = new URL(databaseUrlOf(config));
      const proxy = await startTcpProxy({ port: Number(url.port), delayMs: 225 });
      stack.defer(() => proxy.close());
      url.port = String(proxy.port);
      return { PDS_DATABASE_URL: url.href };
    },
  },
  'Locked table': {
    on: 'postgres',
    cause: async ({ config }, stack) => {
      const session = new pg.Client({ connectionString: databaseUrlOf(config) });
      await session.connect();
      stack.defer(() => session.end());
      await session.query('begin; lock table catalog.contracts in access exclusive mode');
    },
  },
  'Redis gone': { settings: async () => ({ PDS_REDIS_URL: `redis://127.0.0.1:${await findFreePort()}` }) },
  'Flood by one partner': {
    cause: async (made, stack, key) => {
      await setPartner(made.database, Date.now, 'acme', { requestsPerMinute: 3 });
      const service = await serve(made, stack);
      const client = createClient(service.url);
      for (let time = 0; time < 20; time += 1) await client.get('/v1/coops', { key });
      client.close();
      // It writes its counts before it exits.
      await service.stop();
    },
  },
  'Disk full': {
    on: 'sqlite',
    unless: NO_DISK !== null,
    settings: async ({ config, database }, stack) => {
      const disk = mountSmallDisk(4);
      stack.defer(() => disk.remove());
      await database.close();
      const path = databaseUrlOf(config).replace('sqlite:', '');
      for (const file of [path, ...listCatalogFiles(path)]) copyFileSync(file, join(disk.folder, basename(file)));
      disk.fill(256 * 1024);
      return { PDS_DATABASE_URL: `sqlite:${join(disk.folder, basename(path))}` };
    },
  },
  'Damaged file': {
    on: 'sqlite',
    cause: async ({ config, database }) => {
      await database.close();
      const [catalog = ''] = listCatalogFiles(databaseUrlOf(config).replace('sqlite:', ''));
      overwritePage(catalog, 'contract_suppliers_by_contract_id');
    },
  },
  'Damaged index': {
    cause: ({ database }) => execute(database, `delete from catalog.contracts_index where term = '@lead_entity=le_a'`),
  },
  'Lost commits': {
    on: 'postgres',
    cause: async (made, stack) => {
      const service = await serve(made, stack);
      const client = createClient(service.url);
      stack.defer(() => client.close());
      await setPartner(made.database, Date.now, 'acme', { requestsPerMinute: 7 });
      const { key } = await issueKey(made.database, Date.now, 'acme', { environment: 'test', lifetimeMs: null });
      // With this key it has read the last events.
      await expect.poll(async () => (await client.get('/v1/coops', { key })).status, SOON).toBe(200);
      // As on a standby that was promoted without them.
      await sql`delete from access.events where at = (select max(at) from access.events)`.execute(made.database.kysely);
      await expect.poll(() => service.output(), SOON).toContain('CHANGES ARE LOST');
      const noted = made.database.kysely.selectFrom('access.settings').select('value').where('name', '=', 'loss');
      await expect.poll(() => noted.execute(), SOON).toHaveLength(1);
    },
  },
  'Expired key': {
    cause: ({ database }) =>
      issueKey(database, () => Date.now() - 2 * DAY_MS, 'acme', { environment: 'test', lifetimeMs: DAY_MS }),
  },
  'Suspended partner': { cause: ({ database }) => suspendPartner(database, Date.now, 'acme') },
  'No grant': {
    cause: ({ database }) =>
      revoke(database, Date.now, 'acme', { everything: false, leadEntities: ['le_a'], coops: [] }),
  },
  'Hung service': {
    unless: !isInstalled('curl'),
    cause: async (made, stack) => (await serve(made, stack)).freeze(),
  },
};

test('the page begins with a table of twelve faults', () => {
  const first = readTokens(PAGE).find(
    (token) => token.type === 'table' || (token.type === 'heading' && token.raw.startsWith('## ')),
  );
  expect(first?.type).toBe('table');
  expect(ROWS.map(({ fault }) => fault)).toEqual(Object.keys(FAULTS));
});

const engine = inject('engine');
const possible = ROWS.filter(({ fault }) => (FAULTS[fault]?.on ?? engine) === engine);

describe('the command that the page gives for a fault says what the page says of it:', { timeout: 60_000 }, () => {
  for (const row of possible) {
    const { unless = false, cause, settings } = FAULTS[row.fault] ?? {};
    test.skipIf(unless)(row.fault, async () => {
      await using stack = new AsyncDisposableStack();
      const { made, key } = await healthy(stack);
      await cause?.(made, stack, key);
      const used = { ...made.settings, ...(await settings?.(made, stack, key)) };
      expect(await run(row.command, used)).toMatch(patternOf(row));
    });
  }

  test('and does not say it of a healthy service', async () => {
    await using stack = new AsyncDisposableStack();
    const { made } = await healthy(stack);
    await serve(made, stack);
    for (const [command, rows] of Map.groupBy(possible, (row) => row.command)) {
      const output = await run(command, made.settings);
      expect(output).not.toBe('');
      for (const row of rows) expect(output).not.toMatch(patternOf(row));
    }
  });
});

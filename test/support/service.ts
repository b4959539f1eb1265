import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { inject } from 'vitest';
import { PartnerDirectory } from '../../src/access/partner-directory.ts';
import { buildApp } from '../../src/app.ts';
import { readConfig, type DatabaseConfig } from '../../src/config.ts';
import type { Engine, OpenDatabase } from '../../src/database/database.ts';
import { openForServing } from '../../src/database/open.ts';
import type { Clock } from '../../src/timestamp.ts';
import { readCursorSecret } from '../../src/http/request/page-parameters.ts';
import { WAITS } from '../../src/http/server/server.ts';
import { publish } from '../../src/publishing/publish.ts';
import { listSources } from '../../src/publishing/read/source.ts';
import type { PublishedDirectory } from '../model/model.ts';
import { createClient, listAllPages, type HttpResponse, type Get } from './client.ts';
import { createDatabaseOf, type TestDatabase } from './database.ts';
import { forAllTests, forEachTest } from './lifetimes.ts';
import { makePartner, type PartnerSetup, type TestPartner } from './partners.ts';
import { publishLines, type ImportLines } from './publishing.ts';

/** The default time of a test: some deadlines of the generated solicitations are before it, some after. */
export const TEST_NOW = '2026-04-15T09:00:00.000Z';

export interface ServiceSetup {
  /** Defaults to this project's engine. */
  engine?: Engine;
  /** Defaults to a new one. The caller drops another. */
  made?: TestDatabase;
  /** PostgreSQL's replica that the server reads from. */
  replicaUrl?: string;
  /** Records imported first. */
  catalog?: ImportLines;
  /** Directories in the import format, imported one after the other. */
  directories?: readonly string[];
  partners?: readonly PartnerSetup[];
  /** Directories imported after the partners have their grants. */
  directoriesAfterGrants?: readonly string[];
  clock?: Clock;
  /** Records in a block of the index; a small number spreads few records over many blocks. */
  blockSize?: number;
  /** Receives every log line; without it, logging is off. */
  onLog?: (line: string) => void;
  /**
   * Whether the server polls for changes every 500 ms. If not, it notices them only in requests and by
   * `noticeChanges()`.
   */
  isPolling?: boolean;
  /** 32 bytes in hex: services with the same secret issue the same cursors. */
  cursorSecret?: string;
  /** Wraps the server's database, for example to record its statements. */
  watch?: (database: OpenDatabase) => OpenDatabase;
  /** How long the server waits for readers. */
  waits?: Partial<typeof WAITS>;
}

/** A server that listens on a socket: one of those that share a database. */
export interface ServingProcess {
  readonly app: FastifyInstance;
  readonly url: string;
  readonly get: Get;
  /** Makes the server notice imports, grants and revocations now; by polling it takes up to a second. */
  noticeChanges(): Promise<void>;
  /** The number of responses that it served from its cache. */
  cacheHits(): number;
}

/** A server with its own database. */
export interface TestService extends ServingProcess, AsyncDisposable {
  readonly database: OpenDatabase;
  /** For another process on the same database. */
  readonly databaseConfig: DatabaseConfig;
  /** For commands on the same database. */
  readonly settings: TestDatabase['settings'];
  readonly published: readonly PublishedDirectory[];
  partner(name: string): TestPartner;
  /** Fetches all pages of a list, cycling through `limits`. */
  listAllPages(path: string, key: string, limits: readonly number[]): Promise<HttpResponse[]>;
  /** Starts another server on the same database, as another process or host would. */
  startOther(own?: Pick<ServiceSetup, 'onLog' | 'waits'>): Promise<ServingProcess>;
  /** Stops all servers and removes everything created for it. */
  close(): Promise<void>;
}

/** Starts the whole service on a new database. The caller must close it. */
export async function startService(setup: ServiceSetup = {}): Promise<TestService> {
  const clock = setup.clock ?? ((): number => Date.parse(TEST_NOW));
  await using opened = new AsyncDisposableStack();
  const made = setup.made ?? (await createDatabaseOf(setup.engine ?? inject('engine')));
  if (setup.made === undefined) opened.defer(() => made.drop());
  const { database } = made;
  if (setup.cursorSecret !== undefined) await setCursorSecret(database, setup.cursorSecret);
  const blockSize = setup.blockSize === undefined ? {} : { blockSize: setup.blockSize };
  const published: PublishedDirectory[] = [];
  const partners = new Map<string, TestPartner>();
  const publishEach = async (paths: readonly string[] = []): Promise<void> => {
    for (const path of paths) {
      const { timestamp } = await publish(database, await listSources(path), { clock, ...blockSize });
      published.push({ path, publishedAt: timestamp ?? '' });
    }
  };
  if (setup.catalog !== undefined) await publishLines(database, setup.catalog, { clock, ...blockSize });
  await publishEach(setup.directories);
  for (const partner of setup.partners ?? []) partners.set(partner.name, await makePartner(database, clock, partner));
  await publishEach(setup.directoriesAfterGrants);

  const first = await startProcess(opened, made, clock, setup);

  // From here on, the caller must close everything.
  const all = opened.move();
  return {
    ...first,
    database,
    databaseConfig: made.config,
    settings: made.settings,
    published,
    partner(name) {
      const partner = partners.get(name);
      if (partner === undefined) throw new Error(`no partner ${name} was set up`);
      return partner;
    },
    listAllPages: (path, key, limits) => listAllPages(first.get, path, key, limits),
    startOther: (own = {}) => startProcess(all, made, clock, { ...setup, ...own }),
    close: () => all.disposeAsync(),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Starts the service before each test, and closes it afterwards. */
export function serviceForEachTest(setup?: ServiceSetup, timeoutMs?: number): TestService {
  return forEachTest(() => startService(setup), timeoutMs);
}

/** Starts the service for all tests of the file or `describe`. */
export function serviceForAllTests(setup?: ServiceSetup, timeoutMs?: number): TestService {
  return forAllTests(() => startService(setup), timeoutMs);
}

/** Starts a server on a database, and adds its end to `opened`. */
async function startProcess(
  opened: AsyncDisposableStack,
  { config: databaseConfig, database }: TestDatabase,
  clock: Clock,
  { replicaUrl, watch, isPolling = true, onLog, waits }: ServiceSetup,
): Promise<ServingProcess> {
  const config = readConfig({ PDS_LOG_LEVEL: 'silent' });
  const opening = openForServing(databaseConfig, replicaUrl);
  const serving = watch?.(opening) ?? opening;
  opened.defer(() => serving.close());
  // Without polling, time stands still for the directory: otherwise it discards what it has cached after 30 s.
  const now = isPolling ? {} : { now: () => 0 };
  const directory = new PartnerDirectory({ ...config, database: serving, clock, ...now });
  opened.defer(() => directory.stop());
  await directory.start();
  if (!isPolling) directory.stop();
  const services = {
    config: { ...config, database: databaseConfig },
    database: serving,
    clock,
    directory,
    cursorSecret: await readCursorSecret(database),
    logger: onLog === undefined ? pino({ level: 'silent' }) : pino({ level: 'info' }, { write: onLog }),
    observers: [],
  };
  const app = await buildApp(services, undefined, undefined, { ...WAITS, ...waits });
  opened.defer(() => app.close());
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const client = createClient(url);
  opened.defer(() => client.close());
  return {
    app,
    url,
    get: client.get,
    cacheHits: () => app.responseCache.hits,
    noticeChanges: () => directory.readRevision(),
  };
}

async function setCursorSecret({ kysely }: OpenDatabase, value: string): Promise<void> {
  await kysely.updateTable('access.settings').set({ value }).where('name', '=', 'cursor_secret').execute();
}

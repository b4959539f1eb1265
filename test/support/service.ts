import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { inject } from 'vitest';
import { PartnerDirectory } from '../../src/access/partner-directory.ts';
import type { Partner } from '../../src/access/scope.ts';
import { buildApp } from '../../src/app.ts';
import { readConfig, type DatabaseConfig } from '../../src/config.ts';
import type { Engine, OpenDatabase } from '../../src/database/database.ts';
import { openForServing } from '../../src/database/open.ts';
import type { Clock } from '../../src/timestamp.ts';
import { readCursorSecret } from '../../src/paging/cursor.ts';
import { publish } from '../../src/publishing/publication.ts';
import { listSources } from '../../src/publishing/read/source.ts';
import type { PublishedDirectory } from '../model/model.ts';
import { createClient, listAllPages, type HttpResponse, type Get } from './client.ts';
import { createDatabaseOf } from './database.ts';
import { makePartner, type PartnerSetup, type TestPartner } from './partners.ts';
import { publishLines, type ImportLines } from './publishing.ts';

/** The default time of a test: some deadlines of the generated solicitations are before it, some after. */
export const TEST_NOW = '2026-04-15T09:00:00.000Z';

export interface ServiceSetup {
  /** Defaults to this project's engine. */
  engine?: Engine;
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
  /** Runs after a stale scope has been reloaded and before the page is read for it. */
  onRefresh?: () => Promise<unknown>;
  /**
   * Whether the server polls for changes every 500 ms. If not, it notices them only in requests and by
   * `noticeChanges()`.
   */
  isPolling?: boolean;
  /** 32 bytes in hex: services with the same secret issue the same cursors. */
  cursorSecret?: string;
  /** Wraps the server's database, for example to record its statements. */
  watch?: (database: OpenDatabase) => OpenDatabase;
}

/** A server that listens on a socket, with its own database. */
export interface TestService {
  readonly url: string;
  readonly database: OpenDatabase;
  /** For another process on the same database. */
  readonly databaseConfig: DatabaseConfig;
  readonly published: readonly PublishedDirectory[];
  partner(name: string): TestPartner;
  readonly get: Get;
  /** Fetches all pages of a list, cycling through `limits`. */
  listAllPages(path: string, key: string, limits: readonly number[]): Promise<HttpResponse[]>;
  /** Makes the server notice imports, grants and revocations now; by polling it takes up to a second. */
  noticeChanges(): Promise<void>;
  /** Stops the server and removes everything created for it. */
  close(): Promise<void>;
}

class WatchedDirectory extends PartnerDirectory {
  onRefresh: ServiceSetup['onRefresh'];

  override async refresh(partnerId: number): Promise<Partner | null> {
    const partner = await super.refresh(partnerId);
    await this.onRefresh?.();
    return partner;
  }
}

/** Starts the whole service on a new database. The caller must close it. */
export async function startService(setup: ServiceSetup = {}): Promise<TestService> {
  const clock = setup.clock ?? ((): number => Date.parse(TEST_NOW));
  await using opened = new AsyncDisposableStack();
  const made = await createDatabaseOf(setup.engine ?? inject('engine'));
  opened.defer(() => made.drop());
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

  const config = readConfig({ PDS_LOG_LEVEL: 'silent' });
  const opening = openForServing(made.config);
  const serving = setup.watch?.(opening) ?? opening;
  opened.defer(() => serving.close());
  const directory = new WatchedDirectory({ ...config, database: serving, clock });
  directory.onRefresh = setup.onRefresh;
  opened.defer(() => directory.stop());
  await directory.start();
  if (setup.isPolling === false) directory.stop();
  const app = await buildApp({
    config: { ...config, database: made.config },
    database: serving,
    clock,
    directory,
    cursorSecret: await readCursorSecret(database),
    logger: setup.onLog === undefined ? pino({ level: 'silent' }) : pino({ level: 'info' }, { write: setup.onLog }),
    observers: [],
  });
  opened.defer(() => app.close());
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const client = createClient(url);
  opened.defer(() => client.close());

  // From here on, the caller must close everything.
  const all = opened.move();
  return {
    url,
    database,
    databaseConfig: made.config,
    published,
    get: client.get,
    partner(name) {
      const partner = partners.get(name);
      if (partner === undefined) throw new Error(`no partner ${name} was set up`);
      return partner;
    },
    listAllPages: (path, key, limits) => listAllPages(client.get, path, key, limits),
    noticeChanges: async () => {
      // Reloading any partner also reads the current revision.
      const { id } = await database.kysely.selectFrom('access.partners').select('id').executeTakeFirstOrThrow();
      await directory.refresh(id);
    },
    close: () => all.disposeAsync(),
  };
}

async function setCursorSecret({ kysely }: OpenDatabase, value: string): Promise<void> {
  await kysely.updateTable('access.settings').set({ value }).where('name', '=', 'cursor_secret').execute();
}

import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { inject } from 'vitest';
import { PartnerDirectory } from '../../src/access/partner-directory.ts';
import type { Partner } from '../../src/access/scope.ts';
import { buildApp } from '../../src/app.ts';
import { readConfig, type DatabaseConfig } from '../../src/config.ts';
import { openForServing, type Engine, type OpenDatabase } from '../../src/database/database.ts';
import type { Clock } from '../../src/instant.ts';
import { readCursorSecret } from '../../src/paging/cursor-secret.ts';
import { publish } from '../../src/publishing/publication.ts';
import { listSources } from '../../src/publishing/source.ts';
import type { PublishedDirectory } from '../model/model.ts';
import { createClient, walkList, type Answer, type Ask } from './client.ts';
import { createDatabaseOf } from './database.ts';
import { makePartner, type PartnerSetup, type TestPartner } from './partners.ts';

/** When a test is, unless it says otherwise: some deadlines of the generated solicitations are past, some are not. */
export const TEST_NOW = '2026-04-15T09:00:00.000Z';

export interface ServiceSetup {
  /** This project's, unless said otherwise. */
  engine?: Engine;
  /** Directories in the import format, published one after the other. */
  directories?: readonly string[];
  partners?: readonly PartnerSetup[];
  /** Directories that are published when the partners have their grants. */
  directoriesAfterGrants?: readonly string[];
  clock?: Clock;
  /** Records in a block of the index, so that few records are in many blocks. */
  blockSize?: number;
  /** Is told of every line of the log; there is none without it. */
  onLog?: (line: string) => void;
  /** What happens between the reading of a scope that had become stale, and the reading of the page for it. */
  onRefresh?: () => Promise<unknown>;
  /** Whether the server looks for changes twice a second. If it does not, it notices them in requests and by `noticeChanges()`. */
  isPolling?: boolean;
  /** 32 bytes, hexadecimal: two services that share it give the same cursors. */
  cursorSecret?: string;
  /** Gives the server another database to read from, such as one that records the statements. */
  watch?: (database: OpenDatabase) => OpenDatabase;
}

/** A server that listens on a socket, with a database of its own. */
export interface TestService {
  readonly url: string;
  readonly database: OpenDatabase;
  /** For another process that works on the same database. */
  readonly databaseConfig: DatabaseConfig;
  readonly published: readonly PublishedDirectory[];
  partner(name: string): TestPartner;
  readonly get: Ask;
  /** All pages of a list, asked for with these limits in turn. */
  walk(path: string, key: string, limits: readonly number[]): Promise<Answer[]>;
  /** Makes the server notice now what was published, granted or revoked; by itself it does within a second. */
  noticeChanges(): Promise<void>;
  /** Stops the server and removes all that was made. */
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

/** Starts the whole service on a new database. Whoever starts it closes it. */
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
      const { instant } = await publish(database, await listSources(path), { clock, ...blockSize });
      published.push({ path, publishedAt: instant ?? '' });
    }
  };
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

  // From here on it is the caller's to close.
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
    walk: (path, key, limits) => walkList(client.get, path, key, limits),
    noticeChanges: async () => {
      // Whatever partner is read anew, the version comes with it.
      const { id } = await database.kysely.selectFrom('access.partners').select('id').executeTakeFirstOrThrow();
      await directory.refresh(id);
    },
    close: () => all.disposeAsync(),
  };
}

async function setCursorSecret({ kysely }: OpenDatabase, value: string): Promise<void> {
  await kysely.updateTable('access.settings').set({ value }).where('name', '=', 'cursor_secret').execute();
}

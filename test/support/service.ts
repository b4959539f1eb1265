import { Agent, request, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { inject } from 'vitest';
import { grant } from '../../src/access/grant-admin.ts';
import { issueKey } from '../../src/access/key-admin.ts';
import { createPartner, setPartner } from '../../src/access/partner-admin.ts';
import { PartnerDirectory } from '../../src/access/partner-directory.ts';
import type { Kind } from '../../src/access/scope.ts';
import { buildApp } from '../../src/app.ts';
import { readConfig, type DatabaseConfig } from '../../src/config.ts';
import { openForServing, type Engine, type OpenDatabase } from '../../src/database/database.ts';
import type { Clock } from '../../src/instant.ts';
import { publish } from '../../src/publishing/publication.ts';
import { listSources } from '../../src/publishing/source.ts';
import type { ModelScope, PublishedDirectory } from '../model/model.ts';
import { createDatabaseOf } from './database.ts';
import { readCursorSecret } from '../../src/paging/cursor-secret.ts';

/** When a test is, unless it says otherwise: some deadlines of the generated solicitations are past, some are not. */
export const TEST_NOW = '2026-04-15T09:00:00.000Z';

/** A partner to be made, with what is granted to it. */
export interface PartnerSetup {
  name: string;
  everything?: boolean;
  leadEntities?: readonly string[];
  coops?: readonly string[];
  /** All of them unless said otherwise. */
  kinds?: readonly Kind[];
  requestsPerMinute?: number;
}

export interface ServiceSetup {
  /** This project's, unless said otherwise. */
  engine?: Engine;
  /** Directories in the import format, published one after the other. */
  directories?: readonly string[];
  partners?: readonly PartnerSetup[];
  /** Directories that are published when the partners have their grants. */
  directoriesAfterGrants?: readonly string[];
  clock?: Clock;
  /** 32 bytes, hexadecimal: two services that share it give the same cursors. */
  cursorSecret?: string;
}

export interface TestPartner {
  readonly name: string;
  readonly key: string;
  readonly scope: ModelScope;
}

/** An answer, its body as it came. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A server that listens on a socket, with a database of its own. */
export interface TestService {
  readonly url: string;
  readonly database: OpenDatabase;
  /** For another process that works on the same database. */
  readonly databaseConfig: DatabaseConfig;
  readonly published: readonly PublishedDirectory[];
  partner(name: string): TestPartner;
  /** Asks without a key where none is given. */
  get(path: string, options?: { key?: string; headers?: Record<string, string>; method?: string }): Promise<Answer>;
  /** All pages of a list, asked for with these limits in turn. */
  walk(path: string, key: string, limits: readonly number[]): Promise<Answer[]>;
  /** Makes the server notice now what was published, granted or revoked; by itself it does within a second. */
  noticeChanges(): Promise<void>;
  /** Stops the server and removes all that was made. */
  close(): Promise<void>;
}

/** Starts the whole service on a new database. Whoever starts it closes it. */
export async function startService(setup: ServiceSetup = {}): Promise<TestService> {
  const clock = setup.clock ?? ((): number => Date.parse(TEST_NOW));
  await using opened = new AsyncDisposableStack();
  const made = await createDatabaseOf(setup.engine ?? inject('engine'));
  opened.defer(() => made.drop());
  const { database } = made;
  if (setup.cursorSecret !== undefined) await setCursorSecret(database, setup.cursorSecret);
  const published: PublishedDirectory[] = [];
  const partners = new Map<string, TestPartner>();
  const publishEach = async (paths: readonly string[] = []): Promise<void> => {
    for (const path of paths) {
      const { instant } = await publish(database, await listSources(path), { clock });
      published.push({ path, publishedAt: instant ?? '' });
    }
  };
  await publishEach(setup.directories);
  for (const partner of setup.partners ?? []) partners.set(partner.name, await makePartner(database, clock, partner));
  await publishEach(setup.directoriesAfterGrants);

  const config = readConfig({ PDS_LOG_LEVEL: 'silent' });
  const serving = openForServing(made.config);
  opened.defer(() => serving.close());
  const directory = new PartnerDirectory({ ...config, database: serving, clock });
  opened.defer(() => directory.stop());
  await directory.start();
  const app = await buildApp({
    config: { ...config, database: made.config },
    database: serving,
    clock,
    directory,
    cursorSecret: await readCursorSecret(database),
    logger: pino({ level: 'silent' }),
    observers: [],
  });
  opened.defer(() => app.close());
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const agent = new Agent({ keepAlive: true });
  opened.defer(() => agent.destroy());
  const get: TestService['get'] = (path, options) => ask(agent, url + path, options);

  // From here on it is the caller's to close.
  const all = opened.move();
  return {
    url,
    database,
    databaseConfig: made.config,
    published,
    get,
    partner(name) {
      const partner = partners.get(name);
      if (partner === undefined) throw new Error(`no partner ${name} was set up`);
      return partner;
    },
    async walk(path, key, limits) {
      const pages: Answer[] = [];
      let cursor: string | null = null;
      do {
        const limit = limits[pages.length % limits.length];
        const parameters = new URLSearchParams({ limit: String(limit), ...(cursor !== null && { cursor }) });
        const answer = await get(`${path}${path.includes('?') ? '&' : '?'}${parameters.toString()}`, { key });
        pages.push(answer);
        if (answer.status !== 200) break;
        cursor = (JSON.parse(answer.body) as { meta: { next_cursor: string | null } }).meta.next_cursor;
      } while (cursor !== null);
      return pages;
    },
    noticeChanges: async () => {
      // Whatever partner is read anew, the version comes with it.
      const { id } = await database.kysely.selectFrom('access.partners').select('id').executeTakeFirstOrThrow();
      await directory.refresh(id);
    },
    close: () => all.disposeAsync(),
  };
}

async function makePartner(database: OpenDatabase, clock: Clock, setup: PartnerSetup): Promise<TestPartner> {
  const {
    name,
    everything = false,
    leadEntities = [],
    coops = [],
    kinds = null,
    requestsPerMinute = 1_000_000,
  } = setup;
  await createPartner(database, clock, name, { everything });
  if (leadEntities.length + coops.length > 0) {
    await grant(database, clock, name, { everything: false, leadEntities, coops });
  }
  await setPartner(database, name, { requestsPerMinute, kinds });
  const { key } = await issueKey(database, clock, name, { environment: 'test', lifetimeMs: null });
  return { name, key, scope: await readScope(database, name) };
}

/** The grants as they stand in the database, for the model to work from. */
async function readScope({ kysely }: OpenDatabase, name: string): Promise<ModelScope> {
  const partner = await kysely
    .selectFrom('access.partners')
    .select(['id', 'everything_since'])
    .where('name', '=', name)
    .executeTakeFirstOrThrow();
  const grants = await kysely.selectFrom('access.grants').selectAll().where('partner_id', '=', partner.id).execute();
  const ofKind = (kind: string): Record<string, string> =>
    Object.fromEntries(grants.filter((it) => it.kind === kind).map((it) => [it.resource_id, it.granted_at]));
  return { everythingSince: partner.everything_since, leadEntities: ofKind('lead_entity'), coops: ofKind('coop') };
}

async function setCursorSecret({ kysely }: OpenDatabase, value: string): Promise<void> {
  await kysely.updateTable('access.settings').set({ value }).where('name', '=', 'cursor_secret').execute();
}

/** Plain `node:http`: `fetch` would hide how an answer was compressed, and takes twice as long. */
function ask(
  agent: Agent,
  url: string,
  { key, headers, method = 'GET' }: { key?: string; headers?: Record<string, string>; method?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const sent = request(url, { agent, method, headers: { ...authorization, ...headers } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const body = Buffer.concat(chunks).toString('utf8');
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
      });
    });
    sent.on('error', reject).end();
  });
}

import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { issueKey } from '../../src/access/key-admin.ts';
import { createPartner } from '../../src/access/partner-admin.ts';
import { PartnerDirectory } from '../../src/access/partner-directory.ts';
import { buildApp } from '../../src/app.ts';
import { readConfig, type Config } from '../../src/config.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { openForServing } from '../../src/database/open.ts';
import { createTestDatabase } from '../support/database.ts';
import { exchangeBytes } from '../support/network/raw-http.ts';

interface TestAppSetup {
  config?: Partial<Config>;
  /** Adds the test's own routes under /v1. */
  addRoutes?: (v1: FastifyInstance) => void;
}

/** The app on its own database, without records, in which one partner sees everything. */
export interface TestApp extends AsyncDisposable {
  readonly app: FastifyInstance;
  /** For writing. */
  readonly database: OpenDatabase;
  /** The API key of the partner `acme`. */
  readonly key: string;
  readonly authorization: { readonly authorization: string };
  /** Everything logged so far. */
  log(): string;
  /** The lines logged so far that contain a text. */
  linesWith(text: string): Record<string, unknown>[];
  /** Listens on a port of 127.0.0.1, and returns its number. */
  listen(): Promise<number>;
  close(): Promise<void>;
}

export async function createTestApp({ config = {}, addRoutes }: TestAppSetup = {}): Promise<TestApp> {
  const made = await createTestDatabase();
  const { database } = made;
  await createPartner(database, Date.now, 'acme', { everything: true });
  const { key } = await issueKey(database, Date.now, 'acme', { environment: 'test', lifetimeMs: null });
  const serving = openForServing(made.config);
  const lines: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
  const used = { ...readConfig({}), database: made.config, ...config };
  const directory = new PartnerDirectory({ ...used, database: serving, clock: Date.now, logger });
  await directory.start();
  const services = {
    config: used,
    database: serving,
    clock: Date.now,
    cursorSecret: Buffer.alloc(32),
    directory,
    logger,
    observers: [],
  };
  const app = await buildApp(services, undefined, addRoutes);
  const close = async (): Promise<void> => {
    await app.close();
    directory.stop();
    await serving.close();
    await made.drop();
  };
  return {
    app,
    database,
    key,
    authorization: { authorization: `Bearer ${key}` },
    log: () => lines.join(''),
    linesWith: (text) =>
      lines.filter((line) => line.includes(text)).map((line) => JSON.parse(line) as Record<string, unknown>),
    async listen() {
      await app.listen({ host: '127.0.0.1', port: 0 });
      return (app.server.address() as AddressInfo).port;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Like `createTestApp`, and listens. */
export async function createListeningApp(setup?: TestAppSetup): Promise<TestApp & { readonly port: number }> {
  const app = await createTestApp(setup);
  return { ...app, port: await app.listen() };
}

/** Sends raw bytes, and returns everything received until the server closes the connection. */
export async function exchangeRaw(port: number, ...parts: readonly string[]): Promise<string> {
  return (await exchangeBytes(port, parts)).toString();
}

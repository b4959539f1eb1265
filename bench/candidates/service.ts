import { join } from 'node:path';
import type { Engine } from '../market/databases.ts';
import type { ServiceDatabase } from '../market/market.ts';
import { MAIN } from '../market/pds.ts';
import type { RunningCandidate } from './candidate.ts';
import { addressOf } from './question.ts';
import { startServer } from './start-server.ts';

export interface RunningService extends RunningCandidate {
  readonly engine: Engine;
  readonly database: ServiceDatabase;
  /** Cursors by the id after which they continue. Must hold those of questions with `after` before they are requested. */
  readonly cursors: Map<string, string>;
}

export const SERVICE_NAMES: Record<Engine, string> = {
  sqlite: 'this service, SQLite',
  postgres: 'this service, PostgreSQL',
};

/**
 * Starts `pds serve` as an operator would: with all features on, and logging to a file.
 *
 * @param folder of the log, which gets one line per request.
 * @param version of which program, if it is not this one.
 */
export async function startService(
  engine: Engine,
  database: ServiceDatabase,
  folder: string,
  { name, main }: { name: string; main: string } = { name: SERVICE_NAMES[engine], main: MAIN },
): Promise<RunningService> {
  const cursors = new Map<string, string>();
  const { everything } = database.keys;
  const server = await startServer({
    name,
    readyPath: '/health',
    usesPostgres: engine === 'postgres',
    command: (port) => ({
      program: process.execPath,
      args: [main, 'serve', '--port', String(port)],
      env: { PDS_DATABASE_URL: database.url, PDS_ADMIN_PORT: '0' },
      log: join(folder, `serve-${engine}-${port}.log`),
    }),
    headers: (round) => bearer(everything.at(round % everything.length)),
    requestFor(question) {
      if (!('after' in question)) return { path: addressOf(question, undefined) };
      const cursor = cursors.get(question.after);
      return cursor === undefined ? null : { path: addressOf(question, cursor) };
    },
  });
  return { ...server, engine, database, cursors };
}

/** The header of an API key. */
export function bearer(key = ''): Record<string, string> {
  return { Authorization: `Bearer ${key}` };
}

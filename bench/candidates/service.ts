import { closeSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { SERVER_CORE, type Core } from '../machine/cores.ts';
import { findFreePort, waitForAnswer } from '../machine/ports.ts';
import { startProcess } from '../machine/processes.ts';
import type { Engine, ServiceDatabase } from '../market/market.ts';
import { MAIN } from '../market/pds.ts';
import type { RunningCandidate } from './candidate.ts';
import { addressOf } from './question.ts';

export interface ServiceOptions {
  /** Folder for the log, which gets one line per request. */
  folder: string;
  core?: Core | null;
  workers?: number;
  /** Measures how long each iteration of its event loop takes. */
  withHoldProbe?: boolean;
}

/** Cursors by the id after which they continue. */
export type Cursors = Map<string, string>;

export interface RunningService extends RunningCandidate {
  readonly engine: Engine;
  readonly database: ServiceDatabase;
  /** Must hold the cursors of questions with `after` before they are requested. */
  readonly cursors: Cursors;
  /** The port of its `hold-probe.ts`; null if it has none. */
  readonly holdPort: number | null;
}

export const SERVICE_NAMES: Record<Engine, string> = {
  sqlite: 'the service on SQLite',
  postgres: 'the service on PostgreSQL',
};

const HOLD_PROBE = new URL('../measure/hold-probe.ts', import.meta.url).href;

/** Starts `pds serve` as an operator would: with all features on, and logging to a file. */
export async function startService(
  engine: Engine,
  database: ServiceDatabase,
  { folder, core = SERVER_CORE, workers = 1, withHoldProbe = false }: ServiceOptions,
): Promise<RunningService> {
  if (engine === 'sqlite') readThrough(database.url.replace(/^sqlite:/, ''));
  const port = await findFreePort();
  const log = join(folder, `serve-${engine}-${port}.log`);
  const options = workers === 1 ? [] : ['--workers', String(workers)];
  const holdPort = withHoldProbe ? await findFreePort() : null;
  const nodeOptions = holdPort === null ? [] : ['--import', HOLD_PROBE];
  const server = startProcess(process.execPath, [...nodeOptions, MAIN, 'serve', '--port', String(port), ...options], {
    core,
    env: {
      PDS_DATABASE_URL: database.url,
      PDS_ADMIN_PORT: '0',
      ...(holdPort !== null && { BENCH_HOLD_PORT: String(holdPort) }),
    },
    log,
  });
  await waitForAnswer(`http://127.0.0.1:${port}/health`, server).catch((error: unknown) => {
    throw new Error(`pds serve did not start:\n${readFileSync(log, 'utf8').slice(-2_000)}`, { cause: error });
  });
  const cursors: Cursors = new Map();
  const { everything } = database.keys;
  return {
    name: SERVICE_NAMES[engine],
    engine,
    database,
    cursors,
    holdPort,
    process: server,
    port,
    isFixed: false,
    usesPostgres: engine === 'postgres',
    headers: (round) => ({ Authorization: `Bearer ${everything.at(round % everything.length) ?? ''}` }),
    requestFor(question) {
      if (!('after' in question)) return { path: addressOf(question, undefined) };
      const cursor = cursors.get(question.after);
      return cursor === undefined ? null : { path: addressOf(question, cursor) };
    },
    async stop() {
      await server.stop();
      rmSync(log, { force: true });
    },
  };
}

const BLOCK_BYTES = 1024 * 1024;

/** Reads a file into the page cache, where PostgreSQL's pages already are since its tables were filled. */
function readThrough(path: string): void {
  const file = openSync(path, 'r');
  const block = Buffer.allocUnsafe(BLOCK_BYTES);
  while (readSync(file, block) > 0);
  closeSync(file);
}

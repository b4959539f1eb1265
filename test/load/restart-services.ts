import type { DatabaseConfig } from '../../src/config.ts';
import { createClient } from '../support/client.ts';
import { findLastingPort } from '../support/free-port.ts';
import { startServing, type Serving } from '../support/serving-process.ts';

/** The outcome of requests that were sent while services restarted. */
export interface Restarts {
  /** The number of responses of each process, in the order in which they were started. */
  readonly responses: readonly number[];
  readonly failures: readonly string[];
}

const SERVICES = 3;

/** Enough that each process serves some of them. */
const CLIENTS = 48;

/** How many requests are served before each restart. */
const BETWEEN = 300;

/**
 * Starts three services on one port, and restarts one after the other, while clients send requests without pause.
 *
 * @param connections whether a client keeps its connection until the service closes it, or opens one for each request.
 */
export async function restartServices(
  config: DatabaseConfig,
  key: string,
  connections: 'kept' | 'new',
): Promise<Restarts> {
  const port = await findLastingPort();
  const all: Serving[] = [];
  const start = async (): Promise<Serving> => {
    const serving = startServing(config, { PDS_LOG_LEVEL: 'info', PDS_REUSE_PORT: 'true' }, '--port', String(port));
    all.push(serving);
    await serving.port();
    return serving;
  };
  const failures: string[] = [];
  let isOver = false;
  let count = 0;
  let untilCount = { min: 0, reached: (): void => undefined };
  const served = (more: number): Promise<void> => {
    return new Promise((resolve) => {
      untilCount = { min: count + more, reached: resolve };
    });
  };
  const send = async (): Promise<void> => {
    let client = createClient(`http://127.0.0.1:${port}`);
    while (!isOver) {
      try {
        const { status } = await client.get('/v1/coops', { key });
        if (status !== 200) failures.push(String(status));
      } catch (error) {
        failures.push(String(error));
      }
      count += 1;
      if (count >= untilCount.min) untilCount.reached();
      if (connections === 'kept') continue;
      client.close();
      client = createClient(`http://127.0.0.1:${port}`);
    }
    client.close();
  };
  try {
    const first: Serving[] = [];
    for (let number = 0; number < SERVICES; number += 1) first.push(await start());
    const clients = Array.from({ length: CLIENTS }, send);
    for (const serving of first) {
      await served(BETWEEN);
      serving.kill('SIGTERM');
      const [code] = await serving.exited;
      if (code !== 0) failures.push(`a service ended with ${String(code)}`);
      await start();
    }
    await served(BETWEEN);
    isOver = true;
    await Promise.all(clients);
  } finally {
    isOver = true;
    for (const serving of all) serving.kill('SIGTERM');
    await Promise.all(all.map(({ closed }) => closed));
  }
  return { responses: all.map((serving) => serving.output().split('"request answered"').length - 1), failures };
}

// As a program, to be started in a network of its own.
if (import.meta.main) {
  const [config = '', key = ''] = process.argv.slice(2);
  const restarts = await restartServices(JSON.parse(config) as DatabaseConfig, key, 'new');
  process.stdout.write(JSON.stringify(restarts));
}

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { issueKey } from '../../src/access/key-admin.ts';
import { createPartner } from '../../src/access/partner-admin.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const LISTENING = /Server listening at http:\/\/127\.0\.0\.1:(\d+)/;

let made: TestDatabase;
let key: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  made = await createTestDatabase();
  await createPartner(made.database, Date.now, 'acme', { everything: true });
  ({ key } = await issueKey(made.database, Date.now, 'acme', { environment: 'test', lifetimeMs: null }));
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await made.drop();
});

interface Serving {
  child: ChildProcess;
  exited: Promise<unknown[]>;
  /** Standard output and error together. */
  output: () => string;
}

function serve(environment: Record<string, string>, ...options: string[]): Serving {
  const { config } = made;
  const url = config.engine === 'sqlite' ? `sqlite:${config.path}` : config.url;
  const child = spawn(process.execPath, [MAIN, 'serve', ...options], {
    env: { ...process.env, PDS_DATABASE_URL: url, PDS_PORT: '0', PDS_REQUESTS_PER_MINUTE: '1000000', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const chunks: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  return { child, exited: once(child, 'exit'), output: () => chunks.join('') };
}

async function portOf({ child, output }: Serving): Promise<number> {
  while (!LISTENING.test(output())) {
    if (child.exitCode !== null) throw new Error(`it ended:\n${output()}`);
    await once(child.stdout ?? child, 'data');
  }
  return Number(LISTENING.exec(output())?.[1]);
}

async function ask(port: number, agent: Agent): Promise<IncomingMessage> {
  const request = get({
    port,
    host: '127.0.0.1',
    path: '/v1/coops',
    agent,
    headers: { authorization: `Bearer ${key}` },
  });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  return response;
}

describe('pds serve', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('ends at once by %s where nothing is asked', async (signal) => {
    const serving = serve({});
    const port = await portOf(serving);
    const agent = new Agent({ keepAlive: true });
    expect((await ask(port, agent)).statusCode).toBe(200);
    const startedAt = Date.now();
    serving.child.kill(signal);
    expect(await serving.exited).toEqual([0, null]);
    expect(Date.now() - startedAt).toBeLessThan(1_500);
    agent.destroy();
  });

  test('fails no request of busy clients when it is told to end', async () => {
    const serving = serve({ PDS_LOG_LEVEL: 'info' });
    const port = await portOf(serving);
    const failures: string[] = [];
    let answered = 0;
    const clients = Array.from({ length: 8 }, async () => {
      const agent = new Agent({ keepAlive: true });
      try {
        for (;;) {
          const { statusCode, headers } = await ask(port, agent);
          if (statusCode !== 200) failures.push(String(statusCode));
          answered += 1;
          if (answered === 200) serving.child.kill('SIGTERM');
          if (headers.connection === 'close') return;
        }
      } catch (error) {
        failures.push(String(error));
      } finally {
        agent.destroy();
      }
    });
    await Promise.all(clients);
    expect(await serving.exited).toEqual([0, null]);
    expect(failures).toEqual([]);
    expect(answered).toBeGreaterThanOrEqual(200);
    // Every line is written before the end, and none holds the key.
    expect(serving.output().match(/request answered/g)).toHaveLength(answered);
    expect(serving.output()).not.toContain(key);
  });

  test('says so where the port is taken, and ends with 1', async () => {
    const first = serve({});
    const port = await portOf(first);
    const second = serve({}, '--port', String(port));
    expect(await second.exited).toEqual([1, null]);
    expect(second.output()).toContain(`address already in use 127.0.0.1:${port}. Choose another`);
    first.child.kill();
    await first.exited;
  });

  test('--demo is refused outside dev', async () => {
    const serving = serve({ PDS_ENVIRONMENT: 'uat' }, '--demo');
    expect(await serving.exited).toEqual([1, null]);
    expect(serving.output()).toContain('PDS_ENVIRONMENT=dev only');
  });
});

import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { issueKey } from '../../src/access/key-admin.ts';
import { createPartner } from '../../src/access/partner-admin.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startServing, type Serving } from '../support/serving-process.ts';

let made: TestDatabase;
let key: string;
const started: Serving[] = [];

beforeAll(async () => {
  made = await createTestDatabase();
  await createPartner(made.database, Date.now, 'acme', { everything: true });
  ({ key } = await issueKey(made.database, Date.now, 'acme', { environment: 'test', lifetimeMs: null }));
});
afterAll(async () => {
  for (const serving of started) serving.kill('SIGKILL');
  await made.drop();
});

function serve(environment: Record<string, string>, ...options: string[]): Serving {
  const serving = startServing(made.config, environment, ...options);
  started.push(serving);
  return serving;
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
    const port = await serving.port();
    const agent = new Agent({ keepAlive: true });
    expect((await ask(port, agent)).statusCode).toBe(200);
    const startedAt = Date.now();
    serving.kill(signal);
    expect(await serving.exited).toEqual([0, null]);
    expect(Date.now() - startedAt).toBeLessThan(1_500);
    agent.destroy();
  });

  test('fails no request of busy clients when it is told to end', async () => {
    const serving = serve({ PDS_LOG_LEVEL: 'info' });
    const port = await serving.port();
    const failures: string[] = [];
    let answered = 0;
    const clients = Array.from({ length: 8 }, async () => {
      const agent = new Agent({ keepAlive: true });
      try {
        for (;;) {
          const { statusCode, headers } = await ask(port, agent);
          if (statusCode !== 200) failures.push(String(statusCode));
          answered += 1;
          if (answered === 200) serving.kill('SIGTERM');
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
    // Every log line is written before exit, and none contains the key.
    expect(serving.output().match(/request answered/g)).toHaveLength(answered);
    expect(serving.output()).not.toContain(key);
  });

  test('says so where the port is taken, and ends with 1', async () => {
    const first = serve({});
    const port = await first.port();
    const second = serve({}, '--port', String(port));
    expect(await second.exited).toEqual([1, null]);
    expect(second.output()).toContain(`address already in use 127.0.0.1:${port}. Stop what uses that port`);
    first.kill('SIGTERM');
    await first.exited;
  });

  test('--demo is refused outside dev', async () => {
    const serving = serve({ PDS_ENVIRONMENT: 'uat' }, '--demo');
    expect(await serving.exited).toEqual([1, null]);
    expect(serving.output()).toContain('PDS_ENVIRONMENT=dev only');
  });
});

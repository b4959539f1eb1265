import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { readToEnd } from '../support/raw-http.ts';
import { createTestApp, type TestApp } from './test-app.ts';

const SLOW_MS = 400;

let service: TestApp;
let port: number;
const agents: Agent[] = [];

afterEach(async () => {
  for (const agent of agents.splice(0)) agent.destroy();
  await service.close();
});

async function start(): Promise<void> {
  service = await createTestApp({
    config: { requestsPerMinute: 1_000_000 },
    addRoutes(app) {
      app.get('/v1/slow', { config: { kind: 'contracts', parameters: {} } }, async () => {
        await delay(SLOW_MS);
        return '{}';
      });
    },
  });
  port = await service.listen();
}

function keepAliveAgent(): Agent {
  const agent = new Agent({ keepAlive: true });
  agents.push(agent);
  return agent;
}

async function ask(path: string, agent: Agent): Promise<IncomingMessage> {
  const request = get({ port, host: '127.0.0.1', path, agent, headers: service.authorization });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  return response;
}

async function timeToClose(): Promise<number> {
  const startedAt = Date.now();
  await service.app.close();
  return Date.now() - startedAt;
}

describe('the end of the server', () => {
  test('comes at once where nobody is connected', async () => {
    await start();
    expect(await timeToClose()).toBeLessThan(100);
  });

  test('does not wait for connections that are idle, or on which nothing was ever sent', async () => {
    await start();
    await ask('/health', keepAliveAgent());
    const silent = connect(port, '127.0.0.1');
    await once(silent, 'connect');
    expect(await timeToClose()).toBeLessThan(1_000);
    silent.destroy();
  });

  test('waits for requests in flight, answers them, and tells their clients that the connection ends', async () => {
    await start();
    const agent = keepAliveAgent();
    const answers = Array.from({ length: 5 }, () => ask('/v1/slow', agent));
    await delay(100);
    const closed = timeToClose();
    for (const { statusCode, headers } of await Promise.all(answers)) {
      expect(statusCode).toBe(200);
      expect(headers.connection).toBe('close');
    }
    expect(await closed).toBeLessThan(SLOW_MS + 500);
    await expect(ask('/health', keepAliveAgent())).rejects.toThrow('ECONNREFUSED');
  });

  test('answers a request whose first half had arrived', async () => {
    await start();
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write('GET /v1/coops HTTP/1.1\r\nHost: x\r\n');
    await delay(50);
    const closed = service.app.close();
    const received = readToEnd(socket);
    await delay(200);
    socket.write(`Authorization: Bearer ${service.key}\r\n\r\n`);
    expect(String(await received)).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*connection: close/i);
    await closed;
  });

  test('does not wait for long for a request whose second half does not come', async () => {
    await start();
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write('GET /v1/coops HTTP/1.1\r\nHost: x\r\n');
    await delay(50);
    expect(await timeToClose()).toBeLessThan(4_000);
    socket.destroy();
  });

  test('still answers new connections for half a second after it was announced, and closes each of them', async () => {
    await start();
    const startedAt = Date.now();
    const lingering = service.app.linger();
    const agent = keepAliveAgent();
    // The second is served from the cache, without the framework.
    for (let asked = 0; asked < 3; asked += 1) {
      const { statusCode, headers } = await ask('/v1/coops', agent);
      expect([statusCode, headers.connection]).toEqual([200, 'close']);
    }
    await lingering;
    expect(Date.now() - startedAt).toBeGreaterThan(400);
    await service.app.close();
    await expect(ask('/health', keepAliveAgent())).rejects.toThrow('ECONNREFUSED');
  });

  test('fails no request of clients that go on asking on their open connections', async () => {
    await start();
    const failures: string[] = [];
    let answered = 0;
    const clients = Array.from({ length: 10 }, async () => {
      const agent = keepAliveAgent();
      for (;;) {
        try {
          const { statusCode, headers } = await ask('/v1/coops', agent);
          if (statusCode !== 200) failures.push(String(statusCode));
          answered += 1;
          if (headers.connection === 'close') return;
        } catch (error) {
          failures.push(String(error));
          return;
        }
      }
    });
    while (answered < 50) await delay(10);
    await service.app.close();
    await Promise.all(clients);
    expect(failures).toEqual([]);
  });
});

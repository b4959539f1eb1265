import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { readToEnd } from '../support/network/raw-http.ts';
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
    addRoutes(v1) {
      v1.get('/slow', { config: { kind: 'contracts', parameters: {} } }, async () => {
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

async function send(path: string, agent: Agent): Promise<IncomingMessage> {
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

describe('server shutdown', () => {
  test('completes immediately if nobody is connected', async () => {
    await start();
    expect(await timeToClose()).toBeLessThan(100);
  });

  test('does not wait for idle or silent connections', async () => {
    await start();
    await send('/health', keepAliveAgent());
    const silent = connect(port, '127.0.0.1');
    await once(silent, 'connect');
    expect(await timeToClose()).toBeLessThan(1_000);
    silent.destroy();
  });

  test('completes requests in flight, with "Connection: close", and then refuses connections', async () => {
    await start();
    const agent = keepAliveAgent();
    const responses = Array.from({ length: 5 }, () => send('/v1/slow', agent));
    await delay(100);
    const closed = timeToClose();
    for (const { statusCode, headers } of await Promise.all(responses)) {
      expect(statusCode).toBe(200);
      expect(headers.connection).toBe('close');
    }
    expect(await closed).toBeLessThan(SLOW_MS + 500);
    await expect(send('/health', keepAliveAgent())).rejects.toThrow('ECONNREFUSED');
  });

  test('serves a request that was half received', async () => {
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

  test('does not wait long for the rest of a request', async () => {
    await start();
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write('GET /v1/coops HTTP/1.1\r\nHost: x\r\n');
    await delay(50);
    expect(await timeToClose()).toBeLessThan(4_000);
    socket.destroy();
  });

  test('accepts new connections for half a second after its announcement, and closes each after one response', async () => {
    await start();
    const startedAt = Date.now();
    const lingering = service.app.linger();
    const agent = keepAliveAgent();
    // The second is served from the cache, without the framework.
    for (let sent = 0; sent < 3; sent += 1) {
      const { statusCode, headers } = await send('/v1/coops', agent);
      expect([statusCode, headers.connection]).toEqual([200, 'close']);
    }
    await lingering;
    expect(Date.now() - startedAt).toBeGreaterThan(400);
    await service.app.close();
    await expect(send('/health', keepAliveAgent())).rejects.toThrow('ECONNREFUSED');
  });
});

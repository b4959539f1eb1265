import { once } from 'node:events';
import { Agent, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { forEachTest } from '../support/lifetimes.ts';
import { send as sendTo } from '../support/network/counting-clients.ts';
import { readToEnd } from '../support/network/raw-http.ts';
import { createListeningApp } from './test-app.ts';

const SLOW_MS = 400;

const agents: Agent[] = [];

const service = forEachTest(() =>
  createListeningApp({
    config: { requestsPerMinute: 1_000_000 },
    addRoutes(v1) {
      v1.get('/slow', { config: { kind: 'contracts', parameters: {} } }, async () => {
        await delay(SLOW_MS);
        return '{}';
      });
    },
  }),
);
afterEach(() => {
  for (const agent of agents.splice(0)) agent.destroy();
});

function keepAliveAgent(): Agent {
  const agent = new Agent({ keepAlive: true });
  agents.push(agent);
  return agent;
}

const send = (path: string, agent: Agent): Promise<IncomingMessage> => sendTo(service.port, agent, service.key, path);

async function timeToClose(): Promise<number> {
  const startedAt = Date.now();
  await service.app.close();
  return Date.now() - startedAt;
}

describe('server shutdown', () => {
  test('completes immediately if nobody is connected', async () => {
    expect(await timeToClose()).toBeLessThan(100);
  });

  test('does not wait for idle or silent connections', async () => {
    await send('/health', keepAliveAgent());
    const silent = connect(service.port, '127.0.0.1');
    await once(silent, 'connect');
    expect(await timeToClose()).toBeLessThan(1_000);
    silent.destroy();
  });

  test('completes requests in flight, with "Connection: close", and then refuses connections', async () => {
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
    const socket = connect(service.port, '127.0.0.1');
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
    const socket = connect(service.port, '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write('GET /v1/coops HTTP/1.1\r\nHost: x\r\n');
    await delay(50);
    expect(await timeToClose()).toBeLessThan(4_000);
    socket.destroy();
  });

  test('accepts new connections for half a second after its announcement, and closes each after one response', async () => {
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

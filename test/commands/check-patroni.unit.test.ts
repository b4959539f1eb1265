import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkPatroni } from '../../src/checks/patroni.ts';

/** Responses of Patroni 3.0. */
const LEADER = { name: 'postgres-1', role: 'leader', state: 'running', timeline: 3 };
const SYNC = { name: 'postgres-2', role: 'sync_standby', state: 'running', timeline: 3, lag: 0 };
const REPLICA = { name: 'postgres-3', role: 'replica', state: 'streaming', timeline: 3, lag: 0 };

let server: Server;
let url: string;
let responses: Record<string, object>;
beforeEach(async () => {
  responses = { '/cluster': { members: [LEADER, SYNC, REPLICA] }, '/config': { synchronous_mode: true } };
  server = createServer(({ url: path = '' }, reply) => {
    const response = responses[path];
    reply.writeHead(response === undefined ? 503 : 200, { connection: 'close' }).end(JSON.stringify(response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => server.close());

async function check(): Promise<string[]> {
  return (await checkPatroni(url)).map(({ status, message }) => `${status}|${message}`);
}

test('a whole cluster is shown with its members and their lag', async () => {
  const shown = 'postgres-1 (leader), postgres-2 (sync_standby, lag 0 bytes), postgres-3 (replica, lag 0 bytes)';
  expect(await check()).toEqual([`ok|${shown}`]);
});

test.each([
  [[SYNC, REPLICA], 'fail|no member is the primary: there are no writes'],
  [[LEADER, { ...SYNC, role: 'replica' }, REPLICA], 'warn|there is no synchronous standby'],
  [[LEADER, SYNC, { ...REPLICA, state: 'start failed' }], 'warn|postgres-3 is start failed'],
  [[LEADER, SYNC, { ...REPLICA, lag: 1e9 }], 'warn|postgres-3 lags by 1000000000 bytes'],
  [[LEADER, SYNC, { ...REPLICA, lag: 'unknown' }], 'warn|postgres-3 lags by an unknown amount'],
])('members %j: %s', async (members, expected) => {
  responses['/cluster'] = { members };
  expect(await check()).toEqual([expected]);
});

test('a cluster that is paused, or without synchronous mode, is reported', async () => {
  responses['/cluster'] = { members: [LEADER, SYNC, REPLICA], pause: true };
  responses['/config'] = {};
  expect(await check()).toEqual([
    'warn|synchronous mode is off: a promotion can lose changes',
    'warn|it is paused: no replica is promoted',
  ]);
});

test('a member that does not respond, or knows no cluster, is reported with the reason', async () => {
  responses = {};
  expect(await check()).toEqual([expect.stringMatching(/^fail\|Patroni does not respond: \/c\w+ returned 503$/)]);
  server.close();
  expect(await check()).toEqual([expect.stringMatching(/^fail\|Patroni does not respond: .*ECONNREFUSED/)]);
});

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { databaseForEachTest } from '../support/database.ts';
import { getAdmin } from '../support/process/administrator.ts';
import { createClient } from '../support/client.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { startServingThrough, type Serving } from '../support/serving-process.ts';

const DESCRIPTORS = 160;

let serving: Serving;

const made = databaseForEachTest();
beforeEach(() => publishLines(made.database, SMALL_CATALOG));
afterEach(async () => {
  serving.kill('SIGKILL');
  await serving.exited;
});

test('with more connections than file descriptors, connected clients are served, and others refused and accepted later', async () => {
  await using stack = new AsyncDisposableStack();
  const { key } = await makePartner(made.database, Date.now, { name: 'acme', everything: true });
  serving = startServingThrough(['prlimit', `--nofile=${DESCRIPTORS}:${DESCRIPTORS}`], made.config);
  const port = await serving.port();
  const partner = createClient(`http://127.0.0.1:${port}`);
  stack.defer(() => partner.close());
  const ask = async (path: string): Promise<number> => (await partner.get(path, { key })).status;
  expect(await ask('/v1/coops')).toBe(200);

  const sockets: Socket[] = [];
  stack.defer(() => sockets.forEach((socket) => socket.destroy()));
  for (let count = 0; count < 2 * DESCRIPTORS; count += 1) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    sockets.push(socket);
  }
  await serving.said('refusing connections: the limit on open files is reached');
  while (sockets.filter(({ destroyed, connecting }) => !destroyed && !connecting).length >= DESCRIPTORS)
    await delay(20);

  // The service can still open descriptors for its own use.
  if (inject('engine') === 'postgres') {
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name like 'pds serve%'`.execute(made.database.kysely);
    while ((await ask('/v1/suppliers')) !== 200) await delay(50);
  }
  for (const path of ['/v1/contracts', '/v1/solicitations', '/v1/suppliers?limit=3']) expect(await ask(path)).toBe(200);

  const refused = connect(port, '127.0.0.1');
  refused.on('error', () => undefined);
  await once(refused, 'close');

  for (const socket of sockets) socket.destroy();
  const later = createClient(`http://127.0.0.1:${port}`);
  stack.defer(() => later.close());
  while ((await later.get('/v1/coops', { key }).catch(() => null))?.status !== 200) await delay(20);
  serving.kill('SIGTERM');
  expect(await serving.exited).toEqual([0, null]);
});

test("hundreds of incomplete requests to the admin port reset no partner's connection, and admins can connect later", async () => {
  await using stack = new AsyncDisposableStack();
  const { key } = await makePartner(made.database, Date.now, { name: 'acme', everything: true });
  serving = startServingThrough(['prlimit', '--nofile=256:256'], made.config);
  const [port, admin] = [await serving.port(), await serving.adminPort()];
  const partner = createClient(`http://127.0.0.1:${port}`);
  stack.defer(() => partner.close());
  expect((await partner.get('/v1/coops', { key })).status).toBe(200);

  const sockets: Socket[] = [];
  stack.defer(() => sockets.forEach((socket) => socket.destroy()));
  const ends: Promise<unknown>[] = [];
  for (let count = 0; count < 400; count += 1) {
    const socket = connect(admin, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.resume();
    ends.push(new Promise((resolve) => socket.once('close', resolve)));
    socket.write('GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n');
    sockets.push(socket);
  }
  await serving.said('connections to the admin port are refused: too many are open');
  // On the open connection, and on as many new ones as are left for partners.
  const clients = Array.from({ length: 60 }, () => createClient(`http://127.0.0.1:${port}`));
  for (const client of clients) stack.defer(() => client.close());
  const answers = await Promise.all([partner, ...clients].map(({ get }) => get('/v1/coops', { key })));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));

  // Each is closed in time, although its client never gives up.
  await Promise.all(ends);
  expect((await getAdmin(admin, '/livez')).status).toBe(200);
  serving.kill('SIGTERM');
  expect(await serving.exited).toEqual([0, null]);
});

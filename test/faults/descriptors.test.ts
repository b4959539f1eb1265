import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { beforeEach, expect, inject, test } from 'vitest';
import { databaseForEachTest } from '../support/database.ts';
import { getAdmin } from '../support/process/administrator.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { startServingThrough } from '../support/serving-process.ts';

const DESCRIPTORS = 160;

const made = databaseForEachTest();
const stack = forEachTest(() => new AsyncDisposableStack());
beforeEach(() => publishLines(made.database, SMALL_CATALOG));

/** Starts a service with this many file descriptors, and a partner that is connected to it. */
async function start(descriptors: number) {
  const { key } = await makePartner(made.database, Date.now, { name: 'acme', everything: true });
  const launcher = ['prlimit', `--nofile=${descriptors}:${descriptors}`];
  const serving = stack.use(startServingThrough(launcher, made.config));
  const partner = await serving.client();
  expect((await partner.get('/v1/coops', { key })).status).toBe(200);
  return { key, serving, partner };
}

/** Opens this many connections, which end with the test. */
function connectTo(port: number, count: number): Socket[] {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  stack.defer(() => sockets.forEach((socket) => socket.destroy()));
  return sockets;
}

test('with more connections than file descriptors, connected clients are served, and others refused and accepted later', async () => {
  const { key, serving, partner } = await start(DESCRIPTORS);
  const port = await serving.port();
  const ask = async (path: string): Promise<number> => (await partner.get(path, { key })).status;

  const sockets = connectTo(port, 2 * DESCRIPTORS);
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
  const later = await serving.client();
  while ((await later.get('/v1/coops', { key }).catch(() => null))?.status !== 200) await delay(20);
  serving.kill('SIGTERM');
  expect(await serving.exited).toEqual([0, null]);
});

test("hundreds of incomplete requests to the admin port reset no partner's connection, and admins can connect later", async () => {
  const { key, serving, partner } = await start(256);
  const admin = await serving.adminPort();

  const sockets = connectTo(admin, 400);
  const ends = sockets.map((socket) => new Promise((resolve) => socket.resume().once('close', resolve)));
  for (const socket of sockets) socket.write('GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n');
  await serving.said('connections to the admin port are refused: too many are open');
  // On the open connection, and on as many new ones as are left for partners.
  const clients = await Promise.all(Array.from({ length: 60 }, () => serving.client()));
  const answers = await Promise.all([partner, ...clients].map(({ get }) => get('/v1/coops', { key })));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));

  // Each is closed in time, although its client never gives up.
  await Promise.all(ends);
  expect((await getAdmin(admin, '/livez')).status).toBe(200);
  serving.kill('SIGTERM');
  expect(await serving.exited).toEqual([0, null]);
});

import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { startAdminServer } from '../../src/monitoring/admin-server.ts';
import { createTestDatabase, databaseForAllTests } from '../support/database.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { getAdmin, readReadiness, scrape, type Readiness } from '../support/process/administrator.ts';
import { startServing, type Serving } from '../support/serving-process.ts';

const made = databaseForAllTests();
const opened = forEachTest(() => new AsyncDisposableStack());

const serve = (config = made.config): Serving => opened.use(startServing(config));

async function end(serving: Serving): Promise<void> {
  serving.kill('SIGTERM');
  expect(await serving.exited).toEqual([0, null]);
}

/** Polls readiness without pause until it is no longer 200; returns that response. */
async function firstNotReady(admin: number): Promise<Readiness> {
  let readiness = await readReadiness(admin);
  while (readiness.status === 200) readiness = await readReadiness(admin);
  return readiness;
}

describe('the admin port', () => {
  test("serves liveness, readiness and metrics, none of which the partners' port serves", async () => {
    const serving = serve();
    const [admin, port] = [await serving.adminPort(), await serving.port()];
    expect(await getAdmin(admin, '/livez')).toMatchObject({ status: 200, body: '{"status":"alive"}\n' });
    expect(await readReadiness(admin)).toEqual({ status: 200, reasons: [], degradations: [] });
    const metrics = await getAdmin(admin, '/metrics');
    expect(metrics).toMatchObject({ status: 200, type: 'text/plain; version=0.0.4; charset=utf-8' });
    expect((await scrape(admin)).get('pds_ready')).toBe(1);
    expect((await getAdmin(admin, '/livez', 'HEAD')).body).toBe('');
    expect((await getAdmin(admin, '/livez', 'POST')).status).toBe(405);
    expect((await getAdmin(admin, '/v1/contracts')).status).toBe(404);
    for (const path of ['/livez', '/readyz', '/metrics']) expect((await getAdmin(port, path)).status).toBe(404);
    await end(serving);
  });

  test('reports not ready until the requests in flight have completed, then closes', async () => {
    const serving = serve();
    const [admin, port] = [await serving.adminPort(), await serving.port()];
    while ((await readReadiness(admin)).status !== 200) await delay(20);
    // Half a request, whose rest the server waits for.
    const slow = connect(port, '127.0.0.1');
    await once(slow, 'connect');
    slow.write('GET /health HTTP/1.1\r\nHost: a\r\n');
    await delay(100);
    const notReady = firstNotReady(admin);
    serving.kill('SIGTERM');
    expect(await notReady).toMatchObject({ status: 503, reasons: [expect.stringContaining('draining')] });
    expect((await getAdmin(admin, '/livez')).status).toBe(200);
    slow.write('\r\n');
    const [answer] = (await once(slow, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /);
    expect(await serving.exited).toEqual([0, null]);
    await expect(getAdmin(admin, '/livez')).rejects.toThrow('ECONNREFUSED');
    slow.destroy();
  });

  test('accepts only a Host that is an IP address or localhost, which prevents DNS rebinding', async () => {
    const serving = serve();
    const admin = await serving.adminPort();
    const own = ['127.0.0.1', '10.1.2.3:8081', '[::1]', `[fe80::1]:${admin}`, `localhost:${admin}`, 'LocalHost'];
    for (const host of own) {
      expect((await getAdmin(admin, '/livez', 'GET', host)).status, host).toBe(200);
    }
    const others = ['attacker.example', `attacker.example:${admin}`, '127.0.0.1.attacker.example', 'localhost.'];
    for (const host of [...others, '[attacker.example]', '1', 'localhost:x', '127.0.0.1@attacker.example', '::1']) {
      for (const path of ['/livez', '/readyz', '/metrics', '/nothing']) {
        expect(await getAdmin(admin, path, 'GET', host), host).toEqual({ status: 421, type: undefined, body: '' });
      }
    }
    await serving.said('requests to the admin port are refused with 421');
    await serving.port();
    await end(serving);
  });

  test('accepts requests whose Host is the configured one', async () => {
    const server = await startAdminServer(
      { name: 'Metrics.internal', address: '127.0.0.1', port: 0 },
      pino({ enabled: false }),
    );
    const port = Number(new URL(server.origin).port);
    for (const host of ['metrics.internal', `METRICS.internal:${port}`, '127.0.0.1']) {
      expect((await getAdmin(port, '/livez', 'GET', host)).status, host).toBe(200);
    }
    expect((await getAdmin(port, '/livez', 'GET', 'other.internal')).status).toBe(421);
    await server.close();
  });

  test('reports not ready if a newer version has migrated the schema', async () => {
    const own = opened.use(await createTestDatabase());
    const serving = serve(own.config);
    const admin = await serving.adminPort();
    await serving.port();
    const { kysely } = own.database;
    await kysely.insertInto('access.migrations').values({ number: 99, name: 'later', applied_at: '' }).execute();
    await kysely
      .updateTable('access.settings')
      .set({ value: '99' })
      .where('name', '=', 'oldest_served_access')
      .execute();
    const { status, reasons } = await readReadiness(admin);
    expect(status).toBe(503);
    expect(reasons).toEqual([expect.stringContaining("the database's access schema is at 99")]);
    expect((await scrape(admin)).get('pds_ready')).toBe(0);
    await end(serving);
  });
});

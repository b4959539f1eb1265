import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { databaseForAllTests } from '../support/database.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { runUntilClosed, send } from '../support/network/counting-clients.ts';
import { makePartner } from '../support/partners.ts';
import { contract, publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { startServing, type Serving } from '../support/serving-process.ts';

let key: string;

const made = databaseForAllTests();
const opened = forEachTest(() => new AsyncDisposableStack());
beforeAll(async () => {
  ({ key } = await makePartner(made.database, Date.now, { name: 'acme', everything: true }));
});

const serve = (): Serving => opened.use(startServing(made.config, { PDS_LOG_LEVEL: 'info' }));

describe('pds serve', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('exits promptly on %s if it has no requests in flight', async (signal) => {
    const serving = serve();
    const agent = new Agent({ keepAlive: true });
    expect((await send(await serving.port(), agent, key)).statusCode).toBe(200);
    const startedAt = Date.now();
    serving.kill(signal);
    expect(await serving.exited).toEqual([0, null]);
    expect(Date.now() - startedAt).toBeLessThan(1_500);
    agent.destroy();
  });

  test('fails no request of busy clients when SIGTERM is sent to it', async () => {
    const serving = serve();
    const { responses, failures } = await runUntilClosed(await serving.port(), key, 12, (count) => {
      if (count === 300) serving.kill('SIGTERM');
    });
    expect(await serving.exited).toEqual([0, null]);
    await serving.closed;
    expect(failures).toEqual([]);
    expect(responses).toBeGreaterThanOrEqual(300);
    // Every log line is written before exit, and none contains the key.
    expect(serving.output().match(/"msg":"request answered"/g)).toHaveLength(responses);
    expect(serving.output()).not.toContain(key);
  });

  test('exits with 0 within ten seconds if the reader of a stream has stopped', async () => {
    // More than sockets buffer.
    const contracts = Array.from({ length: 1_000 }, (_, index) => ({
      ...contract(`ctr_${index}`),
      description: 'Asphalt '.repeat(1_000),
    }));
    await publishLines(made.database, { ...SMALL_CATALOG, contracts });
    const serving = serve();
    const socket = connect(await serving.port(), '127.0.0.1');
    socket.write(`GET /v1/contracts?format=ndjson HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`);
    await once(socket, 'readable');
    const startedAt = Date.now();
    serving.kill('SIGTERM');
    expect(await serving.exited).toEqual([0, null]);
    expect(Date.now() - startedAt).toBeLessThan(10_000);
    await serving.closed;
    expect(serving.output()).toContain('"streams":1');
    socket.destroy();
  }, 60_000);
});

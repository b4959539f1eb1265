import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createClient, type Client } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { findFreePort } from '../support/free-port.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { startServing, type Serving } from '../support/serving-process.ts';
import { startTraceCollector, type CollectedSpan } from '../support/network/trace-collector.ts';

const SERVER = 2;
const CLIENT = 3;

let made: TestDatabase;
let key: string;
const started: Serving[] = [];

beforeAll(async () => {
  made = await createTestDatabase();
  await publishLines(made.database, SMALL_CATALOG);
  ({ key } = await makePartner(made.database, Date.now, { name: 'acme', everything: true }));
});
afterAll(async () => {
  for (const serving of started) serving.kill('SIGKILL');
  await Promise.all(started.map(({ closed }) => closed));
  await made.drop();
});

function serve(environment: Record<string, string>): Serving {
  const serving = startServing(made.config, environment);
  started.push(serving);
  return serving;
}

/** Everything that a collector received from a service while `ask` ran and until the service exited. */
async function collect(
  ask: (client: Client) => Promise<unknown>,
  environment: Record<string, string> = {},
): Promise<{ spans: CollectedSpan[]; bytes: string }> {
  await using opened = new AsyncDisposableStack();
  const collector = await startTraceCollector();
  opened.defer(() => collector.close());
  const serving = serve({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...environment });
  const client = createClient(`http://127.0.0.1:${await serving.port()}`);
  opened.defer(() => client.close());
  await ask(client);
  serving.kill('SIGTERM');
  expect(await serving.exited).toEqual([0, null]);
  return { spans: collector.spans(), bytes: collector.bytes().toString('latin1') };
}

const childrenOf = (spans: CollectedSpan[], { spanId }: { spanId: string }): CollectedSpan[] =>
  spans.filter(({ parentSpanId }) => parentSpanId === spanId);

describe('the trace of a request', () => {
  test(
    'contains its statements, and is sent before the process exits',
    async () => {
      const ids: unknown[] = [];
      const { spans } = await collect(
        async (client) => {
          for (const path of [
            '/v1/contracts?limit=2',
            '/v1/contracts/ctr_1',
            '/v1/contracts/no_such',
            '/v1/no/where',
          ]) {
            ids.push((await client.get(path, { key })).headers['x-request-id']);
          }
          ids.push((await client.get('/v1/contracts')).headers['x-request-id']);
        },
      );
      const requests = ids.map((id) => spans.find(({ attributes }) => attributes['pds.request_id'] === id));
      expect(requests.map((span) => span && [span.name, span.kind, span.parentSpanId, span.status])).toEqual([
        ['GET /v1/contracts', SERVER, '', 0],
        ['GET /v1/contracts/:id', SERVER, '', 0],
        ['GET /v1/contracts/:id', SERVER, '', 0],
        ['GET', SERVER, '', 0],
        ['GET /v1/contracts', SERVER, '', 0],
      ]);
      expect(requests[0]?.attributes).toEqual({
        'http.request.method': 'GET',
        'url.scheme': 'http',
        'http.route': '/v1/contracts',
        'http.response.status_code': 200,
        'pds.request_id': ids[0],
        'pds.partner': 'acme',
        'pds.records': 2,
      });
      expect(requests.map((span) => span?.attributes['http.response.status_code'])).toEqual([200, 200, 404, 404, 401]);
      expect(requests[4]?.attributes['pds.partner']).toBeUndefined();
      expect(requests[0]?.resource).toMatchObject({
        'service.name': 'partner-data-service',
        'deployment.environment.name': 'dev',
      });
      expect(new Set(requests.map((span) => span?.traceId)).size).toBe(5);
      const [list] = requests;
      if (list === undefined) throw new Error('there is no first request');
      const statements = childrenOf(spans, list);
      expect(statements.map(({ name }) => name.split(' ')[0])).toContain('contracts');
      expect(statements.map(({ name }) => name)).toContain('key');
      for (const statement of statements) {
        expect(statement).toMatchObject({ kind: CLIENT, traceId: list.traceId, status: 0 });
        expect(statement.attributes['db.system.name']).toBe(inject('engine') === 'postgres' ? 'postgresql' : 'sqlite');
        expect(statement.startedAtNs).toBeGreaterThanOrEqual(list.startedAtNs - 1_000_000n);
        expect(statement.endedAtNs).toBeLessThanOrEqual(list.endedAtNs + 1_000_000n);
      }
      // Polling statements belong to no request, and are not traced.
      expect(spans.filter(({ kind }) => kind === CLIENT).every(({ parentSpanId }) => parentSpanId !== '')).toBe(true);
    },
  );

  test('contains no statement if the response was cached', async () => {
    const { spans } = await collect(async (client) => {
      for (let time = 0; time < 3; time += 1) await client.get('/v1/coops', { key });
    });
    const requests = spans.filter(({ kind }) => kind === SERVER);
    expect(requests.map(({ name }) => name)).toEqual(Array.from({ length: 3 }, () => 'GET /v1/coops'));
    expect(requests.slice(1).map((request) => childrenOf(spans, request))).toEqual([[], []]);
  });

  test("links to its client's trace, which affects nothing", async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const spanId = 'b7ad6b7169203331';
    const { spans } = await collect(async (client) => {
      for (const traceparent of [`00-${traceId}-${spanId}-00`, `00-${traceId}-${spanId}-01`, 'nonsense']) {
        await client.get('/v1/coops', { key, headers: { traceparent, tracestate: 'vendor=a-secret' } });
      }
    });
    const requests = spans.filter(({ kind }) => kind === SERVER);
    expect(requests.map(({ links }) => links)).toEqual([[{ traceId, spanId }], [{ traceId, spanId }], []]);
    for (const request of requests) {
      expect(request.parentSpanId).toBe('');
      expect(request.traceId).not.toBe(traceId);
    }
  });

  test('contains no key, address, header or value', async () => {
    const { bytes } = await collect(async (client) => {
      const headers = { 'x-secret': 'needle-in-a-header', traceparent: 'needle-in-a-traceparent' };
      await client.get('/v1/contracts?q=needle1&lead_entity=needle2', { key, headers });
      await client.get('/v1/contracts/needle3', { key });
      await client.get('/v1/needle4', { key });
      await client.get('/v1/contracts?needle5=1', { key });
    });
    expect(bytes).toContain('/v1/contracts');
    expect(bytes).not.toContain('needle');
    expect(bytes).not.toContain(key);
    expect(bytes).not.toContain(key.split('_')[2]);
  });
});

describe("OpenTelemetry's variables", () => {
  test('set the name and attributes of the service', async () => {
    const { spans } = await collect((client) => client.get('/health'), {
      OTEL_SERVICE_NAME: 'pds-east',
      OTEL_RESOURCE_ATTRIBUTES: 'cloud.region=east',
    });
    expect(spans[0]?.resource).toMatchObject({ 'service.name': 'pds-east', 'cloud.region': 'east' });
  });

  test.each([
    [0, { OTEL_TRACES_SAMPLER: 'always_off' }],
    [0, { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }],
    [5, { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '1' }],
    [0, { OTEL_SDK_DISABLED: 'true' }],
  ])('select the requests that are traced: %i of 5 with %j', async (traced, variables) => {
    const { spans } = await collect(async (client) => {
      for (let time = 0; time < 5; time += 1) await client.get('/v1/contracts', { key });
    }, variables);
    expect(spans.filter(({ kind }) => kind === SERVER)).toHaveLength(traced);
    if (traced === 0) expect(spans).toEqual([]);
  });

  test('stop the start if they are invalid', async () => {
    for (const wrong of [{ OTEL_TRACES_SAMPLER: 'sometimes' }, { OTEL_TRACES_SAMPLER_ARG: '2' }]) {
      const serving = serve({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', ...wrong });
      expect(await serving.exited).toEqual([1, null]);
      await serving.closed;
      expect(serving.output()).toMatch(/^error: OTEL_TRACES_SAMPLER(_ARG)? must be/m);
    }
  });
});

describe('no request is affected by a collector that', () => {
  /** Accepts connections, and never responds. */
  async function startSilentServer(): Promise<{ server: Server; port: number }> {
    const server = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { server, port: (server.address() as AddressInfo).port };
  }

  test.each(['is down', 'never responds'])('%s', async (what) => {
    const silent = what === 'never responds' ? await startSilentServer() : null;
    const port = silent?.port ?? (await findFreePort());
    const serving = serve({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://user:a-password@127.0.0.1:${port}` });
    const client = createClient(`http://127.0.0.1:${await serving.port()}`);
    // More than the exporter's queue holds.
    for (let round = 0; round < 30; round += 1) {
      const answers = await Promise.all(Array.from({ length: 100 }, () => client.get('/v1/coops', { key })));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    }
    client.close();
    const askedAt = performance.now();
    serving.kill('SIGTERM');
    expect(await serving.exited).toEqual([0, null]);
    expect(performance.now() - askedAt).toBeLessThan(8_000);
    await serving.closed;
    const complaints = serving.output().match(/traces cannot be sent/g) ?? [];
    expect(complaints.length).toBeLessThanOrEqual(1);
    expect(serving.output()).not.toContain('a-password');
    silent?.server.close();
  });
});

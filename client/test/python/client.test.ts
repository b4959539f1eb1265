import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { testWith } from '../../../test/support/installed-programs.ts';
import { forAllTests } from '../../../test/support/lifetimes.ts';
import { contract, publishLines, solicitation, SMALL_CATALOG } from '../../../test/support/publishing.ts';
import { serviceForAllTests } from '../../../test/support/service.ts';
import {
  drop,
  faulty,
  sendError,
  sendForever,
  sendHalf,
  sendHtml,
  sendJson,
  sendPiece,
  type Misbehave,
} from '../support/faulty-server.ts';
import { InterceptingProxy } from '../support/intercepting-proxy.ts';
import { PYTHON_FOLDER, startPython } from './python-process.ts';

const FILE = join(PYTHON_FOLDER, 'partner_data.py');
const KEY = 'pds_test_abcdefgh_secret';

/** Longer than a successful response takes on a busy machine, in seconds. */
const PATIENCE = 1;

/** Runs a program that has a client of the server as `client`; waits before a retry are short. Returns what it prints. */
async function run(server: { readonly url: string }, program: string, key = KEY, options = ''): Promise<unknown> {
  const beginning = `
import itertools, json, partner_data, random
from partner_data import PartnerData, PartnerDataError
random.uniform = lambda low, high: high / 100
client = PartnerData(${options})
`;
  const environment = { PARTNER_DATA_URL: server.url, PARTNER_DATA_KEY: key };
  const { code, stdout, stderr } = await startPython(['-c', beginning + program], environment).ended;
  expect(stdout + stderr).not.toContain(key);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

/** Prints the attributes of the error that a call raises. */
const errorOf = (call: string): string => `
try:
    print(json.dumps(${call}))
except PartnerDataError as error:
    print(json.dumps([error.status, error.code, error.request_id, error.retry_after, str(error)]))
`;

testWith('python')('needs nothing but Python 3.9, and has at most 400 lines', async () => {
  const program = `
import ast, json, sys
tree = ast.parse(open(${JSON.stringify(FILE)}).read(), feature_version=(3, 9))
names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
print(json.dumps(sorted(name for name in names if name.split(".")[0] not in sys.stdlib_module_names)))
`;
  const { stdout, stderr } = await startPython(['-c', program], {}).ended;
  expect(stdout, stderr).toBe('[]\n');
  expect(readFileSync(FILE, 'utf8').split('\n').length).toBeLessThanOrEqual(401);
});

testWith('python')('has the types of the records as the reference describes them', async () => {
  const program = `
import json, partner_data, typing
found = {}
for name in ("EmbeddedSupplier", "Supplier", "Contract", "Solicitation", "SolicitationDetail"):
    hints = typing.get_type_hints(getattr(partner_data, name))
    found[name] = {field: type(None) in typing.get_args(hint) for field, hint in hints.items()}
print(json.dumps(found))
`;
  const { stdout, stderr } = await startPython(['-c', program], {}).ended;
  expect(stderr).toBe('');
  const document = JSON.parse(readFileSync(join(PYTHON_FOLDER, '../../docs/openapi.json'), 'utf8')) as {
    components: { schemas: Record<string, { properties: Record<string, object> }> };
  };
  const { schemas } = document.components;
  const isNullable = (schema: object): boolean => JSON.stringify(schema).includes('"null"');
  for (const [name, fields] of Object.entries(JSON.parse(stdout) as Record<string, object>)) {
    const described = Object.entries(schemas[name]?.properties ?? {});
    expect(fields, name).toEqual(Object.fromEntries(described.map(([field, schema]) => [field, isNullable(schema)])));
  }
});

const TRANSIENT: Readonly<Record<string, Misbehave>> = {
  'a dropped connection': drop,
  'half a body': sendHalf,
  'an endless body': sendForever,
  'no response': () => undefined,
  '429': (response) => sendError(response, 429, 'rate_limited', { 'retry-after': '0' }),
  '429 of a proxy': (response) => sendHtml(response, 429),
  '500': (response) => sendError(response, 500, 'internal_error'),
  '502': (response) => sendHtml(response, 502),
  "a proxy's page": (response) => sendHtml(response, 200),
  'a part of the body as if it were the whole': (response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"total":'),
};

describe('a failure that can pass', () => {
  for (const [name, misbehave] of Object.entries(TRANSIENT)) {
    testWith('python')(`is tried again after ${name}, and at last reported`, async () => {
      const server = await faulty((response, index, request) =>
        index === 1 ? sendJson(response, { total: 7 }) : misbehave(response, index, request),
      );
      const program = `
first = client.get("/v1/solicitations/count", q="road")["total"]
try:
    client.get("/v1/solicitations/count")
except PartnerDataError as error:
    print(json.dumps([first, error.status]))
`;
      const found = await run(server, program, KEY, `timeout=${PATIENCE}, retries=1`);
      expect(found).toEqual([7, /^\d/.test(name) ? Number(name.slice(0, 3)) : 0]);
      expect(server.received.map(({ url }) => url)).toEqual([
        ...Array.from({ length: 2 }, () => '/v1/solicitations/count?q=road'),
        ...Array.from({ length: 2 }, () => '/v1/solicitations/count'),
      ]);
    });
  }

  testWith('python')('is waited for as long as Retry-After says, but no longer than 90 seconds', async () => {
    const server = await faulty((response, index) =>
      index === 1
        ? sendJson(response, { total: 7 })
        : sendError(response, 429, 'rate_limited', { 'retry-after': index === 0 ? '1' : '91' }),
    );
    const program = `client.get("/v1/solicitations/count")\n${errorOf('client.get("/v1/solicitations/count")')}`;
    expect(await run(server, program)).toEqual([429, 'rate_limited', 'req_test', 91, expect.any(String)]);
    expect(server.received).toHaveLength(3);
    const [first, second] = server.received;
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(999);
  });
});

testWith('python')('a piece that ends within a line is read again, and returned only if it is whole', async () => {
  const server = await faulty((response, index) => {
    const lines = index === 0 ? '{"id":"a"}\n{"id":"b' : '{"id":"a"}\n{"id":"b"}\n';
    sendPiece(response, lines, 'application/x-ndjson', null);
  });
  const records = 'print(json.dumps([record["id"] for record in client.stream("coops")]))';
  expect(await run(server, records)).toEqual(['a', 'b']);
});

describe('any other failure is an error at once:', () => {
  for (const status of [400, 401, 403, 404, 405]) {
    testWith('python')(`${status}`, async () => {
      const server = await faulty((response) => sendError(response, status, 'some_code'));
      const message = `${status} some_code This is some_code. (req_test)`;
      expect(await run(server, errorOf('client.get("/v1/coops")'))).toEqual([
        ...[status, 'some_code', 'req_test', 0, message],
      ]);
      expect(server.received).toHaveLength(1);
    });
  }

  testWith('python')('a redirect, which is not followed', async () => {
    const other = await faulty((response) => sendJson(response, {}));
    const server = await faulty((response) => response.writeHead(302, { location: `${other.url}/v1/coops` }).end());
    expect(await run(server, errorOf('client.get("/v1/coops")'))).toEqual([302, '', '', 0, expect.any(String)]);
    expect(other.received).toHaveLength(0);
  });

  testWith('python')('a listing that would never end', async () => {
    const server = await faulty((response) => sendPiece(response, '{}\n', 'application/x-ndjson', 'same'));
    const found = await run(server, errorOf('len(list(client.stream("coops")))'));
    expect(String((found as unknown[])[4])).toContain('repeats a cursor');
    expect(server.received).toHaveLength(2);
  });
});

testWith('python')('a key or address that cannot be one is refused, and not shown', async () => {
  const keys = ['', 'two words', `${KEY}\n`, 'schlüssel'];
  const urls = ['', 'api.example.com', 'ftp://x', 'https://user:password@x', 'https://x?a=b'];
  const program = `
import json, os
from partner_data import PartnerData, PartnerDataError
errors = []
for url, key in json.loads(os.environ["CASES"]):
    try:
        PartnerData(url, key)
    except PartnerDataError as error:
        errors.append(str(error))
print(json.dumps(errors))
`;
  const cases = [...keys.map((key) => ['https://x', key]), ...urls.map((url) => [url, KEY])];
  const { stdout, stderr } = await startPython(['-c', program], { CASES: JSON.stringify(cases) }).ended;
  expect(stderr).toBe('');
  const errors = JSON.parse(stdout) as string[];
  expect(errors.map((error) => /PARTNER_DATA_(KEY|URL)/.exec(error)?.[1])).toEqual([
    ...keys.map(() => 'KEY'),
    ...urls.map(() => 'URL'),
  ]);
  expect(stdout).not.toMatch(/secret|password|two words/);
});

describe('of a service', () => {
  const contracts = Array.from({ length: 9 }, (_, index) => ({
    ...contract(`ctr_${index}`),
    summary: '"quoted",\n\u2028 Ünïcode',
  }));
  const catalog = { ...SMALL_CATALOG, contracts };
  const service = serviceForAllTests({ catalog, partners: [{ name: 'all', everything: true }] });
  const proxy = forAllTests(() => InterceptingProxy.start(Number(new URL(service.url).port)));

  const runHere = (program: string): Promise<unknown> => run(proxy, program, service.partner('all').key);

  testWith('python')(
    'a list is the same as records and as rows, in pieces of any size, some of which are cut',
    async () => {
      const key = service.partner('all').key;
      const whole = JSON.parse((await service.get('/v1/contracts?limit=100', { key })).body) as { data: object[] };
      proxy.intercept((_request, index) => (index % 3 === 1 ? { cutAfter: 400 } : {}));
      const [records, rows] = (await runHere(`
print(json.dumps([list(client.stream("contracts", q="contract ünïcode", limit=4)), list(client.rows("contracts", limit=2))]))
`)) as [object[], Record<string, string>[]];
      expect(records).toEqual(whole.data);
      expect(rows.map(({ id, summary }) => ({ id, summary }))).toEqual(
        (whole.data as { id: string; summary: string }[]).map(({ id, summary }) => ({ id, summary })),
      );
      expect(rows[0]).toMatchObject({ 'lead_entity.name': 'City of A' });
    },
  );

  testWith('python')('changes are listed since a watermark, and continue from a cursor, or begin again', async () => {
    proxy.intercept(null);
    const program = (call: string): string => `
pieces = list(${call})
print(json.dumps([[(piece.is_first, piece.cursor, piece.reset, piece.watermark) for piece in pieces],
                  [change for piece in pieces for change in piece.changes]]))
`;
    type Listing = [[boolean, string | null, boolean, string | null][], [string, string, object | null][]];
    const list = async (call: string): Promise<Listing> => (await runHere(program(call))) as Listing;
    const [pieces, changes] = await list('client.changes(limit=6)');
    expect(changes.map(([, id]) => id)).toHaveLength(9 + 2 + 2);
    expect(pieces.map(([isFirst, , reset, watermark]) => [isFirst, reset, watermark === null])).toEqual([
      [true, true, true],
      [false, true, true],
      [false, true, false],
    ]);
    const rest = await list(`client.changes(cursor=${JSON.stringify(pieces[0]?.[1])}, limit=6)`);
    expect(rest).toEqual([pieces.slice(1), changes.slice(6)]);
    // The service refuses a cursor of other kinds, as it would one that it can no longer continue.
    const [again, contracts] = await list(`client.changes(None, ["contracts"], ${JSON.stringify(pieces[0]?.[1])})`);
    expect([again.map(([isFirst]) => isFirst), contracts.length]).toEqual([[true], 9]);
    await publishLines(service.database, {
      contracts: [{ id: 'ctr_8', deleted: true }],
      solicitations: [{ ...solicitation('sol_1', 1), title: 'Another' }],
    });
    await service.noticeChanges();
    const since = JSON.stringify(pieces.at(-1)?.[3]);
    const [[end], later] = await list(`client.changes(${since}, ["contracts", "solicitations"])`);
    expect(end?.[2]).toBe(false);
    expect(later).toEqual([
      ['contracts', 'ctr_8', null],
      ['solicitations', 'sol_1', expect.objectContaining({ title: 'Another', notices: [] })],
    ]);
    expect(
      await runHere(
        `print(json.dumps([c.record for p in client.changes(${since}, parse=str) for c in p.changes][1][:12]))`,
      ),
    ).toBe('{"id":"sol_1');
  });

  testWith('python')('the end of the key is announced once', async () => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nx-key-expires-at: 2030-06-01T09:00:00.000Z\r\n';
    proxy.intercept(() => ({ respond: `${head}content-length: 2\r\nconnection: close\r\n\r\n{}` }));
    const environment = { PARTNER_DATA_URL: proxy.url, PARTNER_DATA_KEY: KEY };
    const program = 'import partner_data\nc = partner_data.PartnerData()\nc.get("/v1/key")\nc.get("/v1/key")';
    const { code, stderr } = await startPython(['-c', program], environment).ended;
    expect([code, stderr]).toEqual([0, 'the API key ends at 2030-06-01T09:00:00.000Z: change to another key before\n']);
  });
});

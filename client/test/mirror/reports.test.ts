import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { suspendPartner } from '../../../src/access/partner-admin.ts';
import { makePartner } from '../../../test/support/partners.ts';
import { contract, solicitation } from '../../../test/support/publishing.ts';
import { expectReadAgain, faulty, sendJson, sendPiece } from '../support/faulty-server.ts';
import { readCopy, STORES, storeOptions, type StoreType } from './support/copies.ts';
import { startMirrorHere } from './support/mirror-here.ts';
import { mirroredServiceForEachTest } from './support/mirrored-service.ts';

const OPEN = { ...solicitation('sol_1', 2), lead_entity_id: 'le_1' };
const OWNERS = { lead_entity_id: 'le_1', coop_id: 'co_0' };

const service = mirroredServiceForEachTest();

const mirror = (...args: string[]) => service.mirror(...args);

/** The parsed lines of `--json`: changes, then the report. */
function parseJson(stdout: string): { changes: object[]; report: Record<string, unknown> } {
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const report = lines.pop() ?? {};
  return { changes: lines, report };
}

describe.each(STORES)('a mirror into %s', (type: StoreType) => {
  const args = (): string[] => storeOptions(type, service.folder);

  test('leaves out the kinds that its key cannot read, drops their records, and says so once', async () => {
    await mirror(...args());
    await service.setKinds(['contracts', 'lead-entities', 'coops', 'city-services']);
    const narrowed = await mirror(...args(), '--json');
    expect(narrowed.code, narrowed.stderr).toBe(0);
    expect(narrowed.stderr).toContain('suppliers: not in the copy, because your key has no access to them (403)');
    const { changes, report } = parseJson(narrowed.stdout);
    expect(report).toMatchObject({ ok: true, reset: true, kinds: { suppliers: null, solicitations: null } });
    expect(changes).toContainEqual(expect.objectContaining({ kind: 'suppliers', id: 'sup_0', change: 'removed' }));
    expect(changes).toHaveLength(8 + 14 + 2);
    const copy = readCopy(type, service.folder);
    expect([copy.suppliers.size, copy.solicitations.size, copy.certifications.size]).toEqual([0, 0, 0]);
    expect(copy.contracts.size).toBe(10);
    expect((await mirror(...args())).stderr).toBe('');
    await service.setKinds(null);
    await service.copied(type, mirror(...args()));
  });

  test('of a key that can read short lists only has these', async () => {
    await service.setKinds(['coops']);
    for (const name of ['co_0', 'co_new']) {
      await service.publish({ coops: [{ id: name, name }] });
      expect((await mirror(...args())).code).toBe(0);
      expect(readCopy(type, service.folder).coops.has(name)).toBe(true);
    }
  });

  test("with another partner's key has what that partner sees", async () => {
    const other = await makePartner(service.database, Date.now, { name: 'other', leadEntities: ['le_2'] });
    await service.settle();
    await mirror(...args());
    const environment = { ...service.environment, PARTNER_DATA_KEY: other.key };
    const { code, stderr } = await startMirrorHere(args(), environment).ended;
    expect(code, stderr).toBe(0);
    expect([...readCopy(type, service.folder).contracts.keys()]).toEqual(['ctr_2', 'ctr_5', 'ctr_8']);
  });

  test('of a suspended partner exits with 1 and leaves the copy unchanged', async () => {
    await mirror(...args());
    const before = readCopy(type, service.folder);
    await suspendPartner(service.database, Date.now, 'acme');
    await service.settle();
    await service.refused(args(), 'the service rejects all requests (403)');
    expect(readCopy(type, service.folder)).toEqual(before);
  });

  test('with a mistyped URL does not keep the next run from copying the right service', async () => {
    const other = await faulty((response) => sendJson(response, { status: 'ok' }));
    for (const url of [`${service.proxy.url}/elsewhere`, other.url])
      expect(await mirror(...args(), '--url', url)).toMatchObject({ code: 1, stdout: '' });
    await service.copied(type, mirror(...args()));
  });

  test('ends with 1 if the service repeats a cursor, and the next run completes the copy', async () => {
    await mirror(...args());
    const body =
      '{"kind":"contracts","id":"ctr_1","removed":true}\n{"meta":{"next_cursor":"same","reset":false,"watermark":null}}\n';
    const respond = `HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`;
    service.intercept((_request, index) => (index > 0 ? { respond } : {}));
    await service.refused(args(), 'repeats a cursor');
    expect(service.targets).toHaveLength(3);
    service.intercept(null);
    await service.publish({ contracts: [{ id: 'ctr_1', deleted: true }] });
    await service.copied(type, mirror(...args()));
  });

  test('reads everything again if the service counts other records, and gives up the second time', () =>
    expectReadAgain((environment) => startMirrorHere(args(), environment).ended, 'also after it was read'));

  test('accepts the options that are no longer needed, and warns', async () => {
    const given = ['--reconcile', '--reconcile-every', '1d', '--refresh', '0d'];
    const { code, stdout, stderr } = await mirror(...args(), ...given);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^contracts +10 +10 +0 +0$/m);
    for (const option of given.filter((word) => word.startsWith('--')))
      expect(stderr).toContain(
        `${option} has no effect any more: every sync finds removed records and changed details\n`,
      );
  });

  test('reports what was added, changed and removed, but not each record of a first copy', async () => {
    const first = parseJson((await mirror(...args(), '--json')).stdout);
    const before = (await service.served()).solicitations;
    expect(first.changes).toEqual([]);
    expect(first.report).toMatchObject({ first_copy: true, kinds: { contracts: { held: 10, added: 10 } } });
    const changed = {
      'lead-entities': [{ id: 'le_new', name: 'New' }],
      solicitations: [
        { id: 'sol_0', deleted: true },
        { ...OPEN, title: 'Another' },
        { ...OPEN, id: 'sol_new', ref: 99 },
      ],
    };
    await service.publish(changed);
    const { changes, report } = parseJson((await mirror(...args(), '--json')).stdout);
    const after = (await service.served()).solicitations;
    const differences = (): Record<string, { old: unknown; new: unknown }> => {
      const [old = {}, now = {}] = [before.get('sol_1'), after.get('sol_1')];
      const names = Object.keys(now).filter((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]));
      return Object.fromEntries(names.map((name) => [name, { old: old[name], new: now[name] }]));
    };
    expect(changes).toHaveLength(4);
    expect(changes).toEqual(
      expect.arrayContaining([
        { kind: 'lead-entities', id: 'le_new', change: 'added', record: { id: 'le_new', name: 'New' } },
        { kind: 'solicitations', id: 'sol_0', change: 'removed', record: before.get('sol_0') },
        { kind: 'solicitations', id: 'sol_1', change: 'changed', record: after.get('sol_1'), fields: differences() },
        { kind: 'solicitations', id: 'sol_new', change: 'added', record: after.get('sol_new') },
      ]),
    );
    expect(Object.keys(differences())).toEqual(expect.arrayContaining(['title', 'updated_at', 'close_at', 'is_open']));
    expect(report).toMatchObject({
      ok: true,
      first_copy: false,
      reset: false,
      kinds: {
        'lead-entities': { held: 4, added: 1, changed: 0, removed: 0 },
        contracts: { held: 10, added: 0, changed: 0, removed: 0 },
        solicitations: { held: 14, added: 1, changed: 1, removed: 1 },
      },
    });
    expect(parseJson((await mirror(...args(), '--json')).stdout).changes).toEqual([]);
  });

  test('passes changes to the command of --on-change until it succeeds, each once if it does', async () => {
    const log = join(service.folder, 'log');
    const succeed = ['--on-change', `cat >> '${log}'`];
    await mirror(...args(), ...succeed);
    expect(existsSync(log)).toBe(false);
    await service.publish({ contracts: [{ id: 'ctr_1', deleted: true }] });
    const failed = await mirror(...args(), '--on-change', 'exit 7');
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr).toContain('the command of --on-change failed (exit code 7)');
    // A kill before the report is no different.
    expect((await service.startMirror(...args(), '--on-change', 'kill -9 $PPID').ended).code).toBeNull();
    for (let run = 0; run < 2; run += 1) expect((await mirror(...args(), ...succeed)).code).toBe(0);
    const [line = '', rest] = readFileSync(log, 'utf8').split('\n');
    expect([line, rest]).toEqual([
      expect.stringMatching(/^\{"kind":"contracts","id":"ctr_1","change":"removed","record":\{/),
      '',
    ]);
  });

  test('reports a record that changed again before it was reported as it was and as it is now', async () => {
    await mirror(...args());
    const lines = async (): Promise<string[]> => (await mirror(...args(), '--json')).stdout.split('\n').slice(0, -2);
    const rename = (name: string): Promise<void> =>
      service.publish({
        coops: [
          { id: 'co_0', name },
          { id: 'co_new', name },
        ],
      });
    for (const name of ['First', 'Second']) {
      await rename(name);
      expect((await mirror(...args(), '--on-change', 'exit 7')).code).toBe(1);
    }
    const changes = (await lines())
      .map((line) => JSON.parse(line) as { id: string; fields?: { name: { old: string; new: string } } })
      .filter(({ id }) => id === 'co_0');
    const names = changes.map(({ fields }) => fields?.name);
    if (type === 'sqlite') expect(names).toEqual([{ old: 'co_0', new: 'Second' }]);
    else
      expect(names).toEqual([
        { old: 'co_0', new: 'First' },
        { old: 'First', new: 'Second' },
      ]);
    // In one file, a record that is again as it was has not changed.
    await rename('Third');
    expect((await mirror(...args(), '--on-change', 'exit 7')).code).toBe(1);
    await rename('Second');
    expect((await lines()).filter((line) => line.includes('"kind":"coops"'))).toHaveLength(type === 'sqlite' ? 0 : 4);
  });

  test('reports what a version without records has noted', async () => {
    await mirror(...args());
    if (type === 'sqlite') {
      using copy = new DatabaseSync(join(service.folder, 'copy.sqlite'));
      copy.exec('alter table unreported_changes drop column before');
      copy.exec(`insert into unreported_changes values ('coops', 'co_0', 'changed')`);
    } else {
      const path = join(service.folder, 'copy/.mirror/state.json');
      const line = '{"kind":"coops","id":"co_0","change":"changed"}\n';
      writeFileSync(join(service.folder, 'copy/.mirror/unreported.ndjson'), line);
      const state = readFileSync(path, 'utf8');
      writeFileSync(path, state.replace('"unreportedBytes":0', `"unreportedBytes":${line.length}`));
    }
    const { changes, report } = parseJson((await mirror(...args(), '--json')).stdout);
    expect(changes).toEqual([expect.objectContaining({ kind: 'coops', id: 'co_0', change: 'changed' })]);
    expect(report).toMatchObject({ kinds: { coops: { changed: 1 } } });
  });
});

test('the short lists are read again if one of them was from before the last release', async () => {
  const [before, last] = ['2026-04-15T08:00:00.000Z', '2026-04-15T09:00:00.000Z'];
  let isBehind = true;
  const server = await faulty((response, _index, { url: target = '' }) => {
    const type = 'application/x-ndjson';
    const watermark = isBehind && target === '/v1/lead-entities' ? before : last;
    const meta = { next_cursor: null, reset: true, watermark };
    if (target === '/v1/key') sendJson(response, { partner: 'acme', kinds: ['lead-entities', 'coops', 'contracts'] });
    else if (target.startsWith('/v1/changes')) sendPiece(response, `${JSON.stringify({ meta })}\n`, type, null);
    else response.writeHead(200, { 'content-type': type, 'x-sync-watermark': watermark }).end();
  });
  const environment = { PARTNER_DATA_URL: server.url, PARTNER_DATA_KEY: 'key' };
  const countLists = async (): Promise<number> => {
    server.received.length = 0;
    const { code, stderr } = await startMirrorHere(storeOptions('sqlite', service.folder), environment).ended;
    expect(code, stderr).toBe(0);
    return server.received.filter(({ url }) => url === '/v1/lead-entities').length;
  };
  expect(await countLists()).toBe(1);
  isBehind = false;
  expect(await countLists()).toBe(1);
  expect(await countLists()).toBe(0);
});

test('a copy in SQLite joins contracts with their suppliers and city services', async () => {
  const args = storeOptions('sqlite', service.folder);
  await mirror(...args);
  const change = (supplier_ids: string[], city_service_ids: string[]) =>
    service.publish({
      contracts: [{ ...contract('ctr_1'), ...OWNERS, supplier_ids, city_service_ids }],
    });
  const joined = (): unknown[] => {
    const database = new DatabaseSync(join(service.folder, 'copy.sqlite'), { readOnly: true });
    const rows = database.prepare(
      `select (select group_concat(supplier_id) from contract_suppliers where contract_id = 'ctr_1') as suppliers,
        (select group_concat(city_service_id) from contract_city_services where contract_id = 'ctr_1') as services,
        (select count(*) from contract_suppliers) as links`,
    );
    const found = Object.values(rows.get() ?? {});
    database.close();
    return found;
  };
  expect(joined()).toEqual(['sup_1', 'cs_1', 10]);
  await change(['sup_2', 'sup_3'], []);
  await mirror(...args);
  expect(joined()).toEqual(['sup_2,sup_3', null, 11]);
  await service.publish({ contracts: [{ id: 'ctr_1', deleted: true }] });
  await mirror(...args);
  expect(joined()).toEqual([null, null, 9]);
});

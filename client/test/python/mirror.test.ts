import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { suspendPartner } from '../../../src/access/partner-admin.ts';
import { isInstalled } from '../../../test/support/installed-programs.ts';
import { makePartner } from '../../../test/support/partners.ts';
import { contract, solicitation } from '../../../test/support/publishing.ts';
import { readCopy, storeOptions } from '../mirror/support/copies.ts';
import { mirroredServiceForEachTest } from '../mirror/support/mirrored-service.ts';
import type { MirrorEnd } from '../mirror/support/mirror-process.ts';
import { expectReadAgain } from '../support/faulty-server.ts';
import { startPythonMirror } from './python-process.ts';

const OPEN = { ...solicitation('sol_1', 2), lead_entity_id: 'le_1' };

const service = mirroredServiceForEachTest();

const path = (): string => join(service.folder, 'copy.sqlite');
const start = (environment = service.environment) => startPythonMirror(path(), environment);

/** Runs the mirror undisturbed, and expects the copy to be what the service shows. */
function expectComplete(environment = service.environment): Promise<MirrorEnd> {
  service.intercept(null);
  return service.copied('sqlite', start(environment).ended);
}

/** The rows of the copy's own tables, and the text of its schema without white space. */
function contentsOf(file: string): Record<string, unknown> {
  using database = new DatabaseSync(file, { readOnly: true });
  const schema = database.prepare('select name, sql from sqlite_schema where sql is not null').all();
  const tables = schema.filter(({ sql }) => String(sql).startsWith('create table')).map(({ name }) => String(name));
  const rows = (name: string) => database.prepare(`select * from ${name} order by 1, 2`).all();
  return {
    schema: Object.fromEntries(schema.map(({ name, sql }) => [String(name), String(sql).replaceAll(/\s/g, '')])),
    rows: Object.fromEntries(tables.filter((name) => name !== 'mirror_state').map((name) => [name, rows(name)])),
  };
}

describe.skipIf(!isInstalled('python'))('the mirror in Python', () => {
  test('has every record with its details, and a run without news is two requests', async () => {
    const first = await expectComplete();
    expect(first.stderr).toBe('');
    expect(first.stdout).toMatch(/^contracts +10 +10 +0$/m);
    const second = await expectComplete();
    expect(second.stdout).toMatch(/^contracts +10 +0 +0$/m);
    expect(service.targets).toEqual(['/v1/key', expect.stringMatching(/^\/v1\/changes\?.*updated_since=/)]);
  });

  test('makes the same file as the mirror of the client, and each continues what the other has begun', async () => {
    const args = storeOptions('sqlite', service.folder);
    await expectComplete();
    const other = join(service.folder, 'other');
    mkdirSync(other);
    expect((await service.mirror(...storeOptions('sqlite', other))).code).toBe(0);
    expect(contentsOf(path())).toEqual(contentsOf(join(other, 'copy.sqlite')));
    for (const [index, isPython] of [false, true, false].entries()) {
      await service.publish({ contracts: [{ id: `ctr_${index}`, deleted: true }] });
      service.intercept(null);
      const { stdout } = await service.copied('sqlite', isPython ? start().ended : service.mirror(...args));
      expect(stdout).toMatch(isPython ? /^contracts +8 +0 +1$/m : /^contracts +[79] +0 +0 +1$/m);
      expect(service.targets.filter((target) => !target.includes('updated_since='))).not.toContainEqual(
        expect.stringContaining('/v1/changes'),
      );
    }
  });

  test.each([false, true])('that was killed continues, also by the other program: %s', async (byOther) => {
    const killed = start();
    service.intercept((_request, index) => {
      if (index === 6) killed.kill('SIGKILL');
      return {};
    });
    expect((await killed.ended).code).toBeNull();
    const interruptedAt = service.targets.at(-1);
    expect(interruptedAt).toMatch(/^\/v1\/changes\?.*cursor=/);
    await service.publish({
      contracts: [{ id: 'ctr_0', deleted: true }],
      solicitations: [{ id: 'sol_9', deleted: true }],
    });
    service.intercept(null);
    const run = byOther ? service.mirror(...storeOptions('sqlite', service.folder)) : start().ended;
    await service.copied('sqlite', run);
    const cursorOf = (target = ''): string | undefined => /cursor=([^&]+)/.exec(target)?.[1];
    expect(service.targets.slice(0, 3).map(cursorOf)).toContain(cursorOf(interruptedAt));
  });

  test('applies changes of details, removals, ended grants, other kinds and another partner', async () => {
    await expectComplete();
    const notices = [{ id: 1, title: 'An addendum', body: '', created_at: '2026-01-01T00:00:00.000Z' }];
    await service.publish({
      solicitations: [
        { id: 'sol_0', deleted: true },
        { ...OPEN, notices },
      ],
      contracts: [
        { id: 'ctr_1', deleted: true },
        {
          ...contract('ctr_4'),
          lead_entity_id: 'le_1',
          coop_id: null,
          supplier_ids: ['sup_2', 'sup_3'],
          city_service_ids: [],
        },
      ],
      'lead-entities': [{ id: 'le_2', name: 'Renamed' }],
    });
    await expectComplete();
    await service.change('grant', { everything: false, leadEntities: ['le_1'], coops: [] });
    await service.change('revoke', { everything: true, leadEntities: [], coops: [] });
    await service.settle();
    await expectComplete();
    using copy = new DatabaseSync(path(), { readOnly: true });
    const links = copy.prepare(`select supplier_id from contract_suppliers where contract_id = 'ctr_4'`).all();
    expect(links.map((row) => row['supplier_id'])).toEqual(['sup_2', 'sup_3']);
    await service.setKinds(['suppliers', 'coops']);
    service.intercept(null);
    const narrowed = await start().ended;
    expect(narrowed.stdout, narrowed.stderr).toMatch(/^contracts +no access$/m);
    const { contracts, solicitations, certifications, suppliers, coops } = readCopy('sqlite', service.folder);
    expect([contracts, solicitations, certifications].map(({ size }) => size)).toEqual([0, 0, 0]);
    expect([suppliers.size > 0, coops.size > 0]).toEqual([true, true]);
    await service.setKinds(['coops']);
    expect((await start().ended).stdout).toMatch(/^suppliers +no access$/m);
    const other = await makePartner(service.database, Date.now, { name: 'other', leadEntities: ['le_2'] });
    await service.settle();
    expect((await start({ ...service.environment, PARTNER_DATA_KEY: other.key }).ended).code).toBe(0);
    expect([...readCopy('sqlite', service.folder).contracts.keys()]).toEqual(['ctr_2', 'ctr_5', 'ctr_8']);
  });

  test('reads a piece again whose connection is reset, and begins again once if its cursor is refused', async () => {
    service.intercept(({ target }, index) => {
      const limited = target.replace('limit=10000', 'limit=3');
      if (index === 3) return { cutAfter: 700 };
      return index === 6 ? { target: limited.replace(/cursor=[^&]+/, 'cursor=spoiled') } : {};
    });
    await service.copied('sqlite', start().ended);
    expect(service.proxy.passed.filter(({ status }) => status === 400)).toHaveLength(1);
  });

  test('requests the short lists again only if something was published, with their ETags', async () => {
    await expectComplete();
    await service.publish({ coops: [{ id: 'co_new', name: 'New' }] });
    await expectComplete();
    const lists = service.proxy.passed.filter(({ target }) => /^\/v1\/(?!changes|key)/.test(target));
    expect(lists.map(({ isConditional }) => isConditional)).toEqual([true, true, true, true]);
  });

  test('leaves the copy as it was if it is refused, locked, of another service or of another program', async () => {
    await expectComplete();
    const before = contentsOf(path());
    const fails = async (message: string, environment = service.environment): Promise<void> => {
      const { code, stdout, stderr } = await start(environment).ended;
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/^partner_data: .*\n$/);
      expect(stderr).toContain(message);
      expect(contentsOf(path())).toEqual(before);
    };
    await fails('is a copy of', { ...service.environment, PARTNER_DATA_URL: `${service.proxy.url}/other` });
    await fails('401 unauthorized', { ...service.environment, PARTNER_DATA_KEY: 'pds_test_wrong' });
    await suspendPartner(service.database, Date.now, 'acme');
    await service.settle();
    await fails('403 forbidden');
    const watching = service.startMirrorHere([...storeOptions('sqlite', service.folder), '--watch', '1h']);
    await watching.printed('403');
    await fails('another mirror is using it');
    watching.stop();
    await watching.ended;
    using database = new DatabaseSync(path());
    database.exec('pragma application_id = 7');
    await fails('is no copy that this version can continue');
  });

  test('reads everything again if the service counts other records, and gives up the second time', () =>
    expectReadAgain((environment) => startPythonMirror(path(), environment).ended, 'again: contact support'));
});

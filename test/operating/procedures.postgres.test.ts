import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect } from 'vitest';
import { SERVING_SETTINGS } from '../../src/database/postgres/postgres.ts';
import { blocksRunBy } from '../docs/command-blocks.ts';
import { ReplicaPart, ROLE, startPrimary, type PostgresPart } from '../support/cluster/postgres.ts';
import { findLastingPort } from '../support/free-port.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { makeDataFolder } from '../support/postgres/postgres-instance.ts';
import { findInstalledPrograms } from '../support/postgres/postgres-programs.ts';
import { Machine } from './machine.ts';
import { testWith } from '../support/installed-programs.ts';

const test = testWith('postgresql', 'curl');
const SEVERAL_MACHINES = 'docs/operators/several-machines.md';

let primary: PostgresPart;
let connection: string;

const machine = forAllTests(() => Machine.start());
beforeAll(async () => {
  primary = await startPrimary(machine.workspace);
  connection = `export PATH=${findInstalledPrograms()}:$PATH PGHOST=127.0.0.1 PGPORT=${primary.port} PGUSER=postgres\n`;
});

describe("the procedures of the operators' guide for PostgreSQL", () => {
  test('set the settings of a serving connection on the role', async () => {
    for (const name of Object.keys(SERVING_SETTINGS)) await primary.query(`alter role ${ROLE.name} reset ${name}`);
    await machine.run(SEVERAL_MACHINES, 'psql -d pds <<', {}, connection);
    const [role] = await primary.query<{ rolconfig: string[] }>('select rolconfig from pg_roles where rolname = $1', [
      ROLE.name,
    ]);
    const expected = Object.entries(SERVING_SETTINGS).map(([name, value]) => `${name}=${value}`);
    expect(role?.rolconfig.sort()).toEqual(expected.sort());
  });

  test('give PgBouncer the hashed password', async () => {
    await machine.shell('mkdir -p /etc/pgbouncer');
    await machine.run(SEVERAL_MACHINES, 'psql -d pds -Atc', {}, connection);
    const users = readFileSync(machine.path('/etc/pgbouncer/userlist.txt'), 'utf8');
    expect(users).toMatch(/^"pds" "SCRAM-SHA-256\$\S+"\n$/);
    expect(users).not.toContain(ROLE.password);
  });

  test('create a replica that follows the primary', async () => {
    const replica = new ReplicaPart(machine.workspace, 'replica_2', await findLastingPort(), primary);
    makeDataFolder(replica.data, machine.workspace.runAs);
    const values = {
      'host=10.0.0.21 user=replicator': `host=127.0.0.1 port=${primary.port} user=postgres`,
      '/var/lib/postgresql/15/main': replica.data,
    };
    await machine.run(SEVERAL_MACHINES, 'pg_basebackup', values, connection);
    await machine.own(replica.data);
    await replica.start();
    await primary.query('create table followed (it int)');
    await replica.catchUp();
    expect(await replica.query('select * from followed')).toEqual([]);
    const standing = 'select application_name, state from pg_stat_replication';
    expect(await primary.query(standing)).toEqual([{ application_name: 'replica_2', state: 'streaming' }]);
  });

  test('every block was run', () => {
    expect(machine.ran).toEqual(blocksRunBy('procedures.postgres'));
  });
});

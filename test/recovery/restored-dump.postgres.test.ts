import { join } from 'node:path';
import { expect } from 'vitest';
import { callPds } from '../commands/call-pds.ts';
import { createClient } from '../support/client.ts';
import { ROLE } from '../support/cluster/postgres.ts';
import { startServicePart } from '../support/cluster/service.ts';
import { startStandbyPair } from '../support/cluster/standby-pair.ts';
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { findInstalledPrograms } from '../support/postgres/postgres-programs.ts';
import { contract, publishLines } from '../support/publishing.ts';
import { Copy, KINDS } from '../sync/copy.ts';

const test = testWith('postgresql');

const pair = forAllTests(startStandbyPair, 60_000);

async function syncAll(copies: readonly Copy[]): Promise<number[]> {
  const received = [];
  for (const copy of copies) received.push(await copy.sync());
  return received;
}

test('a database restored with pg_dump and pg_restore continues after pds recover', async () => {
  const programs = findInstalledPrograms();
  const dump = join(pair.workspace.makeFolder('dumps'), 'pds.dump');
  await pair.workspace.run(join(programs, 'pg_dump'), '--format=custom', `--file=${dump}`, pair.primary.url);
  await publishLines(pair.database, { contracts: [{ ...contract('ctr_1'), name: 'Contract changed since' }] });
  let asked = pair.client;
  const copies = KINDS.map((kind) => new Copy(kind, pair.key, (path, options) => asked.get(path, options)));
  await syncAll(copies);

  await pair.primary.query(`create database pds_restored owner ${ROLE.name}`, [], 'postgres');
  const restored = new URL(pair.primary.url);
  restored.pathname = '/pds_restored';
  await pair.workspace.run(
    join(programs, 'pg_restore'),
    ...['--no-owner', '--exit-on-error', `--dbname=${restored.href}`, dump],
  );
  const restoredSettings = { PDS_DATABASE_URL: restored.href };
  // The dump is from the same server and timeline, but its tables are new.
  expect((await callPds(['partner', 'list'], restoredSettings)).stderr).toContain('pds recover');
  const early = await startServicePart(pair.workspace, restored.href);
  await early.stop();
  expect(early.output()).toContain('pds recover');
  const recovered = await callPds(['recover', '--yes', '--json'], restoredSettings);
  expect(recovered.code).toBe(0);
  expect((await callPds(['partner', 'list'], restoredSettings)).stderr).toBe('');

  // The same copies, with their existing watermarks.
  asked = createClient((await startServicePart(pair.workspace, restored.href)).url);
  expect(await syncAll(copies)).toEqual([2, 2, 2]);
  for (const copy of copies) {
    for (const record of await copy.listAll()) expect(copy.records.get(record.id), record.id).toEqual(record);
  }
  asked.close();
});

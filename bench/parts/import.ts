import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { SERVICE_NAMES } from '../candidates/service.ts';
import { movedDeadlines, newRecords, writeChanges } from '../market/changes.ts';
import { databaseUrl, dropDatabase, emptyDatabase, type Engine } from '../market/databases.ts';
import { provideData } from '../market/market.ts';
import type { PostgresCluster } from '../market/postgres-cluster.ts';
import { listCatalogFiles } from '../../src/database/sqlite/file-names.ts';
import { runPds } from '../market/pds.ts';
import type { BaseContext, Part } from '../measure/context.ts';

const DATABASE = 'pds_import';

export const FIRST_IMPORT = 'first import';

/** The number of new records, and of changed ones. A small market has fewer. */
const FEW = 1_000;

export const importing: Part = {
  name: 'import',
  title: 'Import: first, unchanged, few new or changed records; and what undoes it',
  needsMarket: false,
  async run(context) {
    const { folder, scratch, settings, size } = context;
    const data = await provideData(folder, size);
    const step = Math.max(2, Math.floor(size / FEW));
    const few = Math.floor(size / step).toLocaleString('en-US');
    const added = await writeChanges(data, join(scratch, 'added'), newRecords(step, size));
    const moved = await writeChanges(data, join(scratch, 'moved'), movedDeadlines(step));
    for (const engine of settings.engines) {
      const url = databaseUrl(context, engine, DATABASE);
      await emptyDatabase(context, engine, DATABASE);
      await runPds(url, ['migrate']);
      await measureImport(context, engine, FIRST_IMPORT, data);
      const bytes = await bytesOf(engine, url, context.postgres);
      context.record.add('database on disk', SERVICE_NAMES[engine], { MB: bytes / 1024 / 1024 });
      await measureImport(context, engine, 'the same files again', data);
      await measureImport(context, engine, `${few} new records, spread over all`, added);
      await measureImport(context, engine, `${few} changed deadlines`, moved);
      await measureCommands(context, engine);
      await dropDatabase(context, engine, DATABASE);
    }
  },
};

function measureImport(context: BaseContext, engine: Engine, work: string, source: string): Promise<void> {
  return measureCommand(context, engine, work, ['import', source]);
}

/** On PostgreSQL its own tools make backups, and an import of an export goes back. */
async function measureCommands(context: BaseContext, engine: Engine): Promise<void> {
  const [backup, exported] = [join(context.scratch, 'backup'), join(context.scratch, 'exported')];
  if (engine === 'sqlite') {
    // A restore refuses a database without partners.
    await runPds(databaseUrl(context, engine, DATABASE), ['partner', 'create', 'bench', '--everything']);
    await measureCommand(context, engine, 'pds rollback', ['rollback', '--yes']);
    await measureCommand(context, engine, 'pds backup', ['backup', backup]);
    await measureCommand(context, engine, 'pds restore', ['restore', backup, '--yes']);
  }
  await measureCommand(context, engine, 'pds recover', ['recover', '--yes']);
  await measureCommand(context, engine, 'pds export', ['export', exported]);
  for (const folder of [backup, exported]) rmSync(folder, { recursive: true, force: true });
}

async function measureCommand(context: BaseContext, engine: Engine, work: string, args: string[]): Promise<void> {
  const { seconds, peakMegabytes } = await runPds(databaseUrl(context, engine, DATABASE), args);
  context.record.add(work, SERVICE_NAMES[engine], { s: seconds, MB: peakMegabytes });
}

/** Leaves out SQLite's WAL file, whose size depends on which processes have the database open. */
async function bytesOf(engine: Engine, url: string, postgres: PostgresCluster): Promise<number> {
  if (engine === 'sqlite') {
    // The log, and the newest catalog.
    const path = url.replace(/^sqlite:/, '');
    const catalogs = listCatalogFiles(path).map((file) => statSync(file));
    const newest = catalogs.toSorted((one, other) => other.mtimeMs - one.mtimeMs)[0];
    return statSync(path).size + (newest?.size ?? 0);
  }
  const text = 'select pg_database_size(current_database()) as bytes';
  const [row] = await postgres.query<{ bytes: string }>(DATABASE, text);
  return Number(row?.bytes);
}

import { statSync } from 'node:fs';
import { SERVICE_NAMES } from '../candidates/service.ts';
import type { Engine, ServiceDatabase } from '../market/market.ts';
import type { PostgresCluster } from '../market/postgres-cluster.ts';
import type { Part } from '../measure/context.ts';
import { note } from '../measure/progress.ts';

const MEGABYTE = 1024 * 1024;

export const disk: Part = {
  name: 'disk',
  title: 'Size of the database on disk, after an import and another of 3 in 100 changed records',
  async run({ market, postgres, settings, size, store }) {
    for (const engine of settings.engines) {
      const megabytes = (await bytesOf(engine, market.databases[engine], postgres)) / MEGABYTE;
      const base = { part: 'disk', work: 'database', size, candidate: SERVICE_NAMES[engine] };
      store.add({ ...base, unit: 'MB', values: [megabytes] });
      store.add({ ...base, unit: 'MB for each million', values: [(megabytes / size) * 1e6] });
      note(`database on disk, ${engine}: ${Math.round(megabytes)} MB`);
    }
  },
};

/** Leaves out SQLite's WAL file, whose size depends on which processes have the database open. */
async function bytesOf(engine: Engine, { url }: ServiceDatabase, postgres: PostgresCluster): Promise<number> {
  if (engine === 'sqlite') {
    const catalog = url.replace(/^sqlite:/, '');
    return statSync(catalog).size + statSync(catalog.replace(/\.sqlite$/, '.access.sqlite')).size;
  }
  const database = new URL(url).pathname.slice(1);
  const [row] = await postgres.query<{ bytes: string }>(
    database,
    'select pg_database_size(current_database()) as bytes',
  );
  return Number(row?.bytes);
}

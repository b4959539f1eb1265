import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sizeName } from '../dataset/sizes.ts';
import { note } from '../measure/progress.ts';
import { writeChanges } from './changes.ts';
import { readFacts, type MarketFacts } from './facts.ts';
import { digestOf, readMarker, writeMarker } from './folders.ts';
import { provideMarketData } from './generated-data.ts';
import { loadPlainTables } from './load-plain.ts';
import { createPartners, type Keys } from './partners.ts';
import { runPds } from './pds.ts';
import type { PostgresCluster } from './postgres-cluster.ts';

export type Engine = 'sqlite' | 'postgres';
export const ENGINES: readonly Engine[] = ['sqlite', 'postgres'];

/** A filled database of the service. */
export interface ServiceDatabase {
  url: string;
  keys: Keys;
  /** A timestamp between the first import and the import of the changes. */
  changedSince: string;
}

/** All data of one size: files, plain tables, and the service's databases. */
export interface Market {
  solicitations: number;
  data: string;
  facts: MarketFacts;
  /** URL of the database with the plain tables. */
  plainUrl: string;
  databases: Record<Engine, ServiceDatabase>;
}

const DATA_SOURCES = ['bench/dataset', 'sample'];
/** The source folders that determine the contents of the service's databases. */
const IMPORT_SOURCES = ['src/database/migrations', 'src/index', 'src/publishing'];

type LoadedDatabase = Omit<ServiceDatabase, 'url'>;

export interface MarketOptions {
  folder: string;
  postgres: PostgresCluster;
  solicitations: number;
  /** The engines to fill databases for. */
  engines: readonly Engine[];
}

/** Provides the market of a size. Reuses the data of an earlier run unless the sources have changed. */
export async function provideMarket({ folder, postgres, solicitations, engines }: MarketOptions): Promise<Market> {
  const name = sizeName(solicitations);
  note(`preparing ${name}`);
  const data = provideMarketData(join(folder, 'data'), solicitations);
  const changes = join(folder, 'data', `${name}-changes`);
  await writeChanges(data, solicitations, changes);

  const plain = `plain_${name}`;
  const plainMarker = join(folder, `${plain}.json`);
  const plainDigest = digestOf(...DATA_SOURCES, 'bench/market');
  let facts = readMarker(plainMarker, plainDigest) as MarketFacts | null;
  if (facts === null) {
    note(`filling the plain tables of ${name}`);
    await postgres.dropDatabase(plain);
    await postgres.createDatabase(plain);
    await loadPlainTables(postgres.urlOf(plain), data);
    facts = await readFacts(postgres, plain);
    writeMarker(plainMarker, plainDigest, facts);
  }

  const databases = {} as Record<Engine, ServiceDatabase>;
  for (const engine of engines) {
    const database = `pds_${name}`;
    const url = databaseUrl(folder, postgres, engine, database);
    const marker = join(folder, `${database}-${engine}.json`);
    const digest = digestOf(...DATA_SOURCES, 'bench/market', ...IMPORT_SOURCES);
    let loaded = readMarker(marker, digest) as LoadedDatabase | null;
    if (loaded === null) {
      note(`importing ${name} into ${engine}`);
      await emptyDatabase(folder, postgres, engine, database);
      loaded = await fillDatabase(url, [data, changes], facts);
      if (engine === 'postgres') await postgres.query(database, 'vacuum analyze');
      writeMarker(marker, digest, loaded);
    }
    databases[engine] = { url, ...loaded };
  }
  return { solicitations, data, facts, plainUrl: postgres.urlOf(plain), databases };
}

/** The URL of a benchmark database for the service. */
export function databaseUrl(folder: string, postgres: PostgresCluster, engine: Engine, name: string): string {
  return engine === 'postgres' ? postgres.urlOf(name) : `sqlite:${join(folder, 'sqlite', `${name}.sqlite`)}`;
}

/** Drops a benchmark database, and on PostgreSQL creates it again; the service creates SQLite files itself. */
export async function emptyDatabase(
  folder: string,
  postgres: PostgresCluster,
  engine: Engine,
  name: string,
): Promise<void> {
  if (engine === 'postgres') {
    await postgres.dropDatabase(name);
    await postgres.createDatabase(name);
    return;
  }
  mkdirSync(join(folder, 'sqlite'), { recursive: true });
  for (const suffix of ['sqlite', 'access.sqlite']) {
    for (const log of ['', '-wal', '-shm']) {
      rmSync(join(folder, 'sqlite', `${name}.${suffix}${log}`), { force: true });
    }
  }
}

async function fillDatabase(
  url: string,
  [data, changes]: [string, string],
  facts: MarketFacts,
): Promise<LoadedDatabase> {
  await runPds(url, ['migrate']);
  const { stdout } = await runPds(url, ['import', data, '--json']);
  const { published_at } = JSON.parse(stdout) as { published_at: string };
  await runPds(url, ['import', changes]);
  return {
    keys: await createPartners(url, facts),
    changedSince: new Date(Date.parse(published_at) + 1).toISOString(),
  };
}

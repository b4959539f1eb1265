import { join } from 'node:path';
import { writeMarket } from '../dataset/market.ts';
import { dataSizeOf, sizeName } from '../dataset/sizes.ts';
import { note } from '../measure/progress.ts';
import { amendedTitles, writeChanges } from './changes.ts';
import { databaseUrl, emptyDatabase, type Engine, type Place } from './databases.ts';
import { readFacts, type MarketFacts } from './facts.ts';
import { loadPlainTables } from './load-plain.ts';
import { createPartners, type Keys } from './partners.ts';
import { runPds } from './pds.ts';
import { reuse } from './reused.ts';

/** A filled database of the service. */
export interface ServiceDatabase {
  url: string;
  keys: Keys;
  /** A watermark of the partners from before the import of the changes. */
  changedSince: string;
}

/** All data of one size: files, plain tables, and the service's databases. */
export interface Market {
  data: string;
  facts: MarketFacts;
  /** URL of the database with the plain tables. */
  plainUrl: string;
  databases: Record<Engine, ServiceDatabase>;
}

/** The share of solicitations, the last in the order of ids, that change after the first import. */
const CHANGED_SHARE = 0.03;

const DATA_SOURCES = ['bench/dataset', 'sample'];
const PLAIN_SOURCES = [...DATA_SOURCES, 'bench/market'];
/** The source folders that determine the contents of the service's databases. */
const IMPORT_SOURCES = [...PLAIN_SOURCES, 'src/database/migrations', 'src/index', 'src/publishing'];

/** Provides the market of a size. Reuses the data of an earlier run unless the sources have changed. */
export async function provideMarket(place: Place, solicitations: number, engines: readonly Engine[]): Promise<Market> {
  const { folder, postgres } = place;
  const name = sizeName(solicitations);
  note(`preparing ${name}`);
  const data = await provideData(folder, solicitations);
  const changes = join(folder, 'data', `${name}-changes`);
  await writeChanges(data, changes, amendedTitles(1, 'amended', Math.ceil(solicitations * (1 - CHANGED_SHARE))));
  const release = join(folder, 'data', `${name}-release`);
  await writeChanges(data, release, amendedTitles(1, 'released', solicitations - 1));

  const plain = `plain_${name}`;
  const facts = await reuse(join(folder, `${plain}.json`), PLAIN_SOURCES, async () => {
    note(`filling the plain tables of ${name}`);
    await emptyDatabase(place, 'postgres', plain);
    await loadPlainTables(postgres.urlOf(plain), data);
    return readFacts(postgres, plain);
  });

  const databases = {} as Record<Engine, ServiceDatabase>;
  for (const engine of engines) {
    const database = serviceDatabaseName(solicitations);
    const url = databaseUrl(place, engine, database);
    const loaded = await reuse(join(folder, `${database}-${engine}.json`), IMPORT_SOURCES, async () => {
      note(`importing ${name} into ${engine}`);
      await emptyDatabase(place, engine, database);
      const filled = await fillDatabase(url, [data, release, changes], facts);
      if (engine === 'postgres') await postgres.query(database, 'vacuum analyze');
      return filled;
    });
    databases[engine] = { url, ...loaded };
  }
  return { data, facts, plainUrl: postgres.urlOf(plain), databases };
}

/** Returns the folder with the generated records of a size, in the import format. */
export async function provideData(folder: string, solicitations: number): Promise<string> {
  const target = join(folder, 'data', sizeName(solicitations));
  await reuse(`${target}.json`, DATA_SOURCES, () => writeMarket(target, dataSizeOf(solicitations)));
  return target;
}

/** The service's database of a market size. */
export function serviceDatabaseName(solicitations: number): string {
  return `pds_${sizeName(solicitations)}`;
}

async function fillDatabase(
  url: string,
  [data, release, changes]: [string, string, string],
  facts: MarketFacts,
): Promise<Omit<ServiceDatabase, 'url'>> {
  await runPds(url, ['migrate']);
  await runPds(url, ['import', data]);
  const keys = await createPartners(url, facts);
  // The watermark after a release that the partners saw: since any earlier time, all that they see is new to them.
  const { stdout } = await runPds(url, ['import', release, '--json']);
  const { published_at } = JSON.parse(stdout) as { published_at: string };
  await runPds(url, ['import', changes]);
  return { keys, changedSince: new Date(Date.parse(published_at) + 1).toISOString() };
}

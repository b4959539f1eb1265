import { join } from 'node:path';
import { SERVICE_NAMES } from '../candidates/service.ts';
import { writeNdjson } from '../dataset/ndjson-writer.ts';
import { mkdirSync } from 'node:fs';
import type { HttpRequest } from '../load/load.ts';
import { databaseUrl, emptyDatabase, type Engine } from '../market/market.ts';
import { createPartner } from '../market/partners.ts';
import { runPds } from '../market/pds.ts';
import { measureCold, reportCold } from '../measure/cold.ts';
import type { BaseContext, Part } from '../measure/context.ts';
import { combinationsOf } from '../../test/support/records/filter-combinations.ts';
import { renamed, SKEWED_SOLICITATIONS, skewedCatalog } from '../../test/support/records/skewed-catalog.ts';
import { SKEWED_PARTNERS, skewedFilters } from '../../test/support/records/skewed-filters.ts';
import { SKEWED_PART } from './part-names.ts';

const DATABASE = 'pds_skewed';

/** A smoke run takes every 300th combination. */
const SMOKE_STEP = 300;

const WARM_UP_REQUESTS = 300;

export const skewed: Part = {
  name: SKEWED_PART.part,
  title: 'Skewed data: 341 grants, one owner of 60 %, one supplier on a third of the contracts',
  ownSize: SKEWED_SOLICITATIONS,
  isLong: true,
  needsMarket: false,
  async run(context) {
    const { folder, postgres, settings } = context;
    const folders = writeCatalogs(join(context.scratch, 'skewed'));
    for (const engine of settings.engines) {
      await emptyDatabase(folder, postgres, engine, DATABASE);
      const { url, keys, updatedSince } = await fill(context, engine, folders);
      const [key = ''] = keys;
      const requests = requestsOf(updatedSince, settings.isSmoke ? SMOKE_STEP : 1);
      const responses = await measureCold(context, {
        engine,
        database: { url, keys: { everything: keys, narrow: key, middle: key }, changedSince: '' },
        warmUp: keys.map((one) => ({ key: one, requests: warmUpRequests() })),
        measured: keys.map((one) => ({ key: one, requests })),
        withNextPages: true,
      });
      const base = { ...SKEWED_PART, size: SKEWED_SOLICITATIONS, candidate: SERVICE_NAMES[engine] };
      reportCold(context, { ...base, measure: 'milliseconds' }, responses.flat());
      await emptyDatabase(folder, postgres, engine, DATABASE);
    }
  },
};

/** Writes the catalog and two sets of changed records. Returns their folders in import order. */
function writeCatalogs(folder: string): string[] {
  const catalog = skewedCatalog();
  return [catalog, renamed(catalog, 2), renamed(catalog, 200)].map((files, index) => {
    const target = join(folder, String(index));
    mkdirSync(target, { recursive: true });
    for (const [name, records] of Object.entries(files)) writeNdjson(join(target, `${name}.ndjson`), records);
    return target;
  });
}

async function fill(
  { folder, postgres }: BaseContext,
  engine: Engine,
  [all = '', half = '', few = '']: readonly string[],
): Promise<{ url: string; keys: string[]; updatedSince: string[] }> {
  const url = databaseUrl(folder, postgres, engine, DATABASE);
  const importFolder = async (source: string): Promise<string> => {
    const { stdout } = await runPds(url, ['import', source, '--json']);
    const { published_at } = JSON.parse(stdout) as { published_at: string };
    return new Date(Date.parse(published_at) + 1).toISOString();
  };
  await runPds(url, ['migrate']);
  const beforeGrants = await importFolder(all);
  const keys: string[] = [];
  for (const partner of Object.values(SKEWED_PARTNERS)) {
    const leadEntities = 'leadEntities' in partner ? partner.leadEntities : [];
    const coops = 'coops' in partner ? partner.coops : [];
    const grants = [
      ...('everything' in partner ? ['--everything'] : []),
      ...leadEntities.flatMap((id) => ['--lead-entity', id]),
      ...coops.flatMap((id) => ['--coop', id]),
    ];
    keys.push(await createPartner(url, partner.name, grants));
  }
  const afterHalf = await importFolder(half);
  await importFolder(few);
  // On PostgreSQL, the importer leaves this to autovacuum, which the benchmark's settings delay by a day.
  if (engine === 'postgres') await postgres.query(DATABASE, 'vacuum analyze');
  return { url, keys, updatedSince: [beforeGrants, afterHalf] };
}

/** Every combination of filters, for every list and for counts. */
function requestsOf(updatedSince: readonly string[], step: number): HttpRequest[] {
  const filters = skewedFilters(updatedSince);
  const counts = combinationsOf(filters['/v1/solicitations']).map((query) => `/v1/solicitations/count?${query}`);
  const lists = Object.entries(filters).flatMap(([path, values]) =>
    combinationsOf(values).map((query) => `${path}?${query}`),
  );
  return [...lists, ...counts].filter((_, index) => index % step === 0).map((path) => ({ path }));
}

/** Requests with filter values that are not measured. */
function warmUpRequests(): HttpRequest[] {
  return Array.from({ length: WARM_UP_REQUESTS }, (_, index) => {
    const bound = new Date(Date.UTC(2021, 0, 1) + index).toISOString();
    const list = `/v1/solicitations?status=awarded&q=m&closing_after=${bound}`;
    return {
      path: [list, list.replace('?', '/count?'), `/v1/contracts?q=m&limit=${1 + (index % 100)}`][index % 3] ?? list,
    };
  });
}

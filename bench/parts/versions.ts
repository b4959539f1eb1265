import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { takeOutVersionBefore } from '../../test/upgrade/version-before.ts';
import { installPackages } from '../candidates/peers.ts';
import { bearer, SERVICE_NAMES, startService, type RunningService } from '../candidates/service.ts';
import { askOneAtATime, readAllPages, type TimedResponse } from '../load/clients.ts';
import { amendedTitles, writeChanges } from '../market/changes.ts';
import { databaseUrl, dropDatabase, emptyDatabase, readIntoMemory, type Engine } from '../market/databases.ts';
import type { ServiceDatabase } from '../market/market.ts';
import { createPartners } from '../market/partners.ts';
import { MAIN, runPds } from '../market/pds.ts';
import { fewRounds, type BenchContext, type Part } from '../measure/context.ts';
import { COMMON_WORD } from '../dataset/search-words.ts';
import { recordTimes } from '../measure/one-at-a-time.ts';
import {
  detailQuestions,
  listQuestions,
  newQuestions,
  questionsNeeded,
  requestsFor,
  searchQuestions,
} from '../measure/questions.ts';
import { measureThroughput, type Work } from '../measure/throughput.ts';
import { FIRST_IMPORT } from './import.ts';

/** The last version before the catalog became a file, with many more names for the state of the database. */
const EARLIER = { version: '1.3.0', commit: '9ca1fcd69824e044d06c12ef59b568de791a6021' };

/** The name of the earlier version on the engine of this service. */
export const earlierOf = (service: string): string => service.replace('this service', `version ${EARLIER.version}`);

/** The documentation site, as built for this version. */
const SITE = fileURLToPath(new URL('../../portal/dist', import.meta.url));

/** A walk takes seconds. */
const MAX_WALK_SECONDS = 600;

/** A revoked key is accepted for at most a second. */
const MAX_ACCEPTED_MS = 60_000;

interface Version {
  readonly engine: Engine;
  readonly name: string;
  readonly main: string;
  readonly database: ServiceDatabase;
}

export const versions: Part = {
  name: 'versions',
  title: 'This version and an earlier one',
  async run(context) {
    const folder = join(context.scratch, 'earlier');
    mkdirSync(folder);
    const earlier = takeOutVersionBefore(folder, EARLIER);
    // It has other dependencies than this version.
    const checkout = join(dirname(earlier), '..');
    rmSync(join(checkout, 'node_modules'));
    await installPackages(checkout, '--omit=dev', '--ignore-scripts');
    // Otherwise its start would be faster by the time that registering the site's pages takes.
    cpSync(SITE, join(checkout, 'portal', 'dist'), { recursive: true });
    await context.stopServers();
    for (const engine of context.settings.engines) {
      const both = [
        await importWith(context, engine, earlierOf(SERVICE_NAMES[engine]), earlier, 'pds_version_earlier'),
        await importWith(context, engine, SERVICE_NAMES[engine], MAIN, 'pds_version_now'),
      ];
      for (let round = 0; round < fewRounds(context.settings); round++)
        for (const version of round % 2 === 0 ? both : both.toReversed()) await measureStart(context, version, round);
      const services: RunningService[] = [];
      for (const version of both) services.push(await start(context, version));
      try {
        for (const work of worksOf(context)) await measureThroughput(context, { ...work, candidates: services });
        const changes = await writeChanges(context.market.data, join(context.scratch, 'all'), amendedTitles(1));
        for (const [index, service] of services.entries())
          await measureBesideImport(context, service, both[index]?.main ?? MAIN, changes);
      } finally {
        for (const service of services) await service.stop();
        for (const name of ['pds_version_earlier', 'pds_version_now']) await dropDatabase(context, engine, name);
      }
    }
  },
};

async function importWith(context: BenchContext, engine: Engine, name: string, main: string, database: string) {
  const url = databaseUrl(context, engine, database);
  await emptyDatabase(context, engine, database);
  await runPds(url, ['migrate'], main);
  const { seconds } = await runPds(url, ['import', context.market.data], main);
  context.record.add(FIRST_IMPORT, name, { s: seconds });
  if (engine === 'postgres') await context.postgres.query(database, 'vacuum analyze');
  const keys = await createPartners(url, context.market.facts, main);
  return { engine, name, main, database: { url, keys, changedSince: '' } } satisfies Version;
}

function start({ scratch }: BenchContext, { engine, name, main, database }: Version): Promise<RunningService> {
  return startService(engine, database, scratch, { name, main });
}

/** A start, and a walk through the list in its largest pages by the process that was started. */
async function measureStart(context: BenchContext, version: Version, round: number): Promise<void> {
  await readIntoMemory(context, version.database.url);
  const begunAt = performance.now();
  const service = await start(context, version);
  const { port, name } = service;
  context.record.add('start', name, { s: (performance.now() - begunAt) / 1_000 });
  try {
    const pages = { first: '/v1/solicitations?limit=100', next: '/v1/solicitations?limit=100&cursor={cursor}' };
    const { seconds } = await readAllPages({
      port,
      headers: service.headers(round),
      pages,
      maxSeconds: MAX_WALK_SECONDS,
    });
    context.record.add('walk through a list', name, { s: seconds });
  } finally {
    await service.stop();
  }
}

/** Pages while an import changes every solicitation, and how long a key that is revoked meanwhile is still accepted. */
async function measureBesideImport(context: BenchContext, service: RunningService, main: string, changes: string) {
  const { port, name, database } = service;
  const { url, keys } = database;
  const isDone = { value: false };
  const imported = runPds(url, ['import', changes], main).finally(() => {
    isDone.value = true;
  });
  const pages: TimedResponse[] = [];
  const ask = async (): Promise<void> => {
    const requests = requestsFor(listQuestions(context, context.settings.samples));
    pages.push(...(await askOneAtATime({ port, headers: service.headers(0), requests })));
  };
  await ask();
  const [, , keyId = ''] = keys.narrow.split('_');
  await runPds(url, ['key', 'revoke', keyId], main);
  const revokedAt = performance.now();
  // A small market is imported in a second or two.
  if (isDone.value && !context.settings.isSmoke)
    context.record.problem(name, 'the import ended before the key was revoked');
  for (let status = 200; status !== 401 && performance.now() - revokedAt < MAX_ACCEPTED_MS;)
    ({ status } = await fetch(`http://127.0.0.1:${port}/v1/coops?limit=1`, { headers: bearer(keys.narrow) }));
  context.record.add('a revoked key, beside an import', name, { 'longest ms': performance.now() - revokedAt });
  while (!isDone.value) await ask();
  recordTimes(context, 'list page, beside an import', name, pages);
  context.record.add('import of changes to all', name, { s: (await imported).seconds });
}

function worksOf(context: BenchContext): Omit<Work, 'candidates'>[] {
  const count = questionsNeeded(context.settings);
  const { facts } = context.market;
  const filters = { leadEntity: facts.largestLeadEntity, status: 'awarded' };
  return [
    { work: 'list page, two filters', questions: listQuestions(context, count) },
    { work: 'detail', questions: detailQuestions(facts) },
    { work: 'page requested again', questions: listQuestions(context, 1), isRepeated: true },
    { work: 'search, common word', questions: searchQuestions(context, [COMMON_WORD], count) },
    { work: 'count, two filters', questions: newQuestions(context, count, () => filters, { kind: 'count' }) },
  ];
}

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { AllPages, RunningCandidate } from '../candidates/candidate.ts';
import { startService, type RunningService } from '../candidates/service.ts';
import { readAllPages, readLines, readStream } from '../load/clients.ts';
import { OTHER_CORE } from '../machine/cores.ts';
import { runProgram } from '../machine/processes.ts';
import { startCpuMeter } from '../machine/usage.ts';
import { amendedTitles, writeChanges } from '../market/changes.ts';
import { copyDatabase, dropDatabase } from '../market/databases.ts';
import { serviceDatabaseName } from '../market/market.ts';
import { runPds } from '../market/pds.ts';
import { fewRounds, type BenchContext, type Part } from '../measure/context.ts';
import { newQuestions, requestsFor } from '../measure/questions.ts';

/** The copy that changes are published to, because other parts need the market as it is. */
const DATABASE = 'pds_copies';

const MIRROR = fileURLToPath(new URL('../../client/src/mirror/main.ts', import.meta.url));

/** Runs without news take so little CPU time that several are measured together. */
const RUNS_WITHOUT_NEWS = 10;

/** One in this many solicitations changes. */
const CHANGED_STEP = 100;

/** A product that needs longer to send everything is measured by what it has sent by then. */
const MAX_SECONDS = 60;

export const STREAM = 'stream';
export const FIRST_COPY = 'first copy';
export const PAGES = 'largest pages';
export const COPY = "PostgreSQL's COPY";
export const bareInsertsOf = (service: string): string => `bare inserts from ${service}`;
export const mirrorOf = (service: string): string => `mirror of ${service}`;

const STREAM_PATH = '/v1/solicitations?format=ndjson';

/** Streams that are saved to a file, whose lines are read afterwards. */
const SAVED_STREAMS = [
  { work: `${STREAM}, zstd`, path: STREAM_PATH, encoding: 'zstd' },
  { work: 'stream of the feed, all kinds', path: '/v1/changes?format=ndjson', encoding: 'identity' },
] as const;

/** A whole list, as a stream. */
interface Whole {
  readonly records: number;
  readonly bytes: number;
}

export const copies: Part = {
  name: 'copies',
  title: 'Streams, pages and copies of everything',
  async run(context) {
    const { engines } = context.settings;
    const services: RunningService[] = [];
    const wholes = new Map<RunningService, Whole>();
    await context.stopServers();
    const baselines = await context.baselines();
    try {
      for (const engine of engines) {
        const database = context.market.databases[engine];
        const url = await copyDatabase(context, engine, serviceDatabaseName(context.size), DATABASE);
        const service = await startService(engine, { ...database, url }, context.scratch);
        services.push(service);
        wholes.set(service, await readWhole(context, service));
      }
      for (let round = 0; round < fewRounds(context.settings); round++) {
        for (const service of services) {
          await measureStream(context, service, round, wholes.get(service));
          // Beside the stream, since the machine has slow phases.
          if (service.engine === 'postgres') await measureCopy(context);
          await measureSavedStreams(context, service, round);
          await measurePages(context, service, round, newPages(context));
          await measureMirror(context, service, round);
        }
        for (const baseline of baselines) {
          if (baseline.allPages !== undefined) await measurePages(context, baseline, round, baseline.allPages);
        }
      }
    } finally {
      for (const service of services) await service.stop();
      for (const engine of engines) await dropDatabase(context, engine, DATABASE);
    }
  },
};

/** Reads the first stream of a process, which is slow until it is compiled, and counts its lines. */
async function readWhole({ scratch }: BenchContext, { port, headers }: RunningService): Promise<Whole> {
  const file = join(scratch, 'whole.ndjson');
  const { bytes } = await readStream({ port, headers: headers(0), path: STREAM_PATH, file });
  const { records } = await readLines({ file, isZstd: false, database: null });
  rmSync(file);
  return { records, bytes };
}

/** Discards the stream, as the rows of COPY are. */
async function measureStream({ record }: BenchContext, service: RunningService, round: number, whole?: Whole) {
  const { port, headers } = service;
  const { seconds, bytes } = await readStream({ port, headers: headers(round), path: STREAM_PATH, file: null });
  // Titles have changed since, by a few letters each.
  if (whole === undefined || Math.abs(bytes / whole.bytes - 1) > 0.01)
    throw new Error(`a stream has ${bytes} bytes, and the first one had ${whole?.bytes}`);
  record.add(STREAM, service.name, { 'records/s': whole.records / seconds });
}

async function measureSavedStreams({ scratch, record }: BenchContext, service: RunningService, round: number) {
  const file = join(scratch, 'lines.ndjson');
  const copy = join(scratch, 'bare.sqlite');
  for (const { work, path, encoding } of SAVED_STREAMS) {
    const isFeed = path.startsWith('/v1/changes');
    for (const made of [file, copy]) rmSync(made, { force: true });
    const headers = { ...service.headers(round), 'accept-encoding': encoding };
    const { seconds } = await readStream({ port: service.port, headers, path, file });
    const lines = await readLines({ file, isZstd: encoding === 'zstd', database: isFeed ? copy : null });
    record.add(work, service.name, { 'records/s': lines.records / seconds });
    if (isFeed) record.add(FIRST_COPY, bareInsertsOf(service.name), { s: seconds + lines.seconds });
  }
}

/** Pages that no cache has: a cursor belongs to its filters, which are new. */
function newPages(context: BenchContext): AllPages {
  const [request] = requestsFor(newQuestions(context, 1, () => ({}), { kind: 'list', limit: 100 }));
  return { first: request?.path ?? '', next: `${request?.path ?? ''}&cursor={cursor}` };
}

async function measurePages(context: BenchContext, candidate: RunningCandidate, round: number, pages: AllPages) {
  const headers = candidate.headers(round);
  const { records, seconds } = await readAllPages({ port: candidate.port, headers, pages, maxSeconds: MAX_SECONDS });
  context.record.add(PAGES, candidate.name, { 'records/s': records / seconds });
}

/** A first copy, a run without news, and a copy after a change, each with the CPU time of service and database. */
async function measureMirror(context: BenchContext, service: RunningService, round: number): Promise<void> {
  const { scratch, market, record, postgres, settings } = context;
  const copy = join(scratch, 'copy.sqlite');
  for (const suffix of ['', '-wal', '-shm']) rmSync(copy + suffix, { force: true });
  const env = {
    PARTNER_DATA_URL: `http://127.0.0.1:${service.port}`,
    PARTNER_DATA_KEY: String(service.database.keys.everything[0]),
  };
  const run = async (work: string, runs = 1): Promise<string> => {
    const cpuSince = startCpuMeter(service.pid, service.usesPostgres ? postgres.process.pid : null);
    const begunAt = performance.now();
    let output = '';
    for (let count = 0; count < runs; count++)
      output = await runProgram(process.execPath, [MIRROR, '--sqlite', copy], { core: OTHER_CORE, env });
    const seconds = (performance.now() - begunAt) / 1_000;
    const { server, database } = cpuSince();
    record.add(work, mirrorOf(service.name), { s: seconds / runs, 'CPU s': (server + database) / runs });
    return output;
  };
  await run(FIRST_COPY);
  await run('run without news', settings.isSmoke ? 1 : RUNS_WITHOUT_NEWS);
  const changes = await writeChanges(
    market.data,
    join(scratch, 'changes'),
    amendedTitles(CHANGED_STEP, `amended, round ${round + 1}`),
  );
  await runPds(service.database.url, ['import', changes]);
  const report = await run('copy after 1 in 100 changed');
  const [, , , changed = ''] = (/^solicitations .*$/m.exec(report)?.[0] ?? '').split(/ +/);
  // Drafts changed too, and are in no copy.
  const expected = context.size / CHANGED_STEP;
  const found = Number(changed.replaceAll(',', ''));
  if (!(found > 0.9 * expected && found <= expected)) throw new Error(`the mirror found other changes:\n${report}`);
}

/** PostgreSQL's own way to send the same texts. */
async function measureCopy({ record, postgres, size }: BenchContext): Promise<void> {
  const client = new pg.Client({ connectionString: postgres.urlOf(DATABASE) });
  await client.connect();
  try {
    const begunAt = performance.now();
    const query = 'copy (select document from catalog.solicitations order by position) to stdout';
    const copied = client.query(copyTo(query));
    for await (const chunk of copied as AsyncIterable<Buffer>) if (chunk.length === 0) break;
    record.add(STREAM, COPY, { 'records/s': size / ((performance.now() - begunAt) / 1_000) });
  } finally {
    await client.end();
  }
}

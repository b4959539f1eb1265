import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { RunningService } from '../candidates/service.ts';
import { readOutput } from '../load/output.ts';
import { readStream, type StreamOutcome } from '../load/stream.ts';
import { cpuSeconds } from '../machine/usage.ts';
import type { BenchContext, Part } from '../measure/context.ts';
import { note } from '../measure/progress.ts';
import type { Unit } from '../measure/results.ts';

/** Streams and copies take long, and more rounds add no information. */
const MAX_ROUNDS = 3;

/** Polls for which the CPU time of one is measured. */
const POLLS = 100;

const MIRROR = fileURLToPath(new URL('../../client/src/mirror/main.ts', import.meta.url));

const LIST = '/v1/solicitations?format=ndjson';
const FEED = '/v1/changes?format=ndjson';

const WORKS = [
  { work: 'all solicitations as a stream', path: LIST, encoding: 'identity' },
  { work: 'all solicitations as a stream, zstd', path: LIST, encoding: 'zstd' },
  { work: 'everything from the feed of changes', path: FEED, encoding: 'identity' },
] as const;

export const copies: Part = {
  name: 'copies',
  title: 'Streams of all solicitations, and a copy of everything',
  async run(context) {
    const rounds = Math.min(context.settings.rounds, MAX_ROUNDS);
    const found = new Figures(context);
    for (let round = 0; round < rounds; round++) {
      for (const service of await context.services()) await measureService(context, service, round, found);
      await measureCopy(context, found);
    }
    found.store();
  },
};

/** The values of each round, by work, candidate and unit. */
class Figures {
  readonly #context: BenchContext;
  readonly #values = new Map<string, { work: string; candidate: string; unit: Unit; values: number[] }>();

  constructor(context: BenchContext) {
    this.#context = context;
  }

  add(work: string, candidate: string, unit: Unit, value: number): void {
    const key = JSON.stringify([work, candidate, unit]);
    const figure = this.#values.get(key) ?? { work, candidate, unit, values: [] };
    figure.values.push(value);
    this.#values.set(key, figure);
    note(`${work}, ${candidate}: ${value.toFixed(2)} ${unit}`);
  }

  store(): void {
    const { store, market } = this.#context;
    for (const figure of this.#values.values()) store.add({ part: 'copies', size: market.solicitations, ...figure });
  }
}

async function measureService(
  { scratch }: BenchContext,
  service: RunningService,
  round: number,
  found: Figures,
): Promise<void> {
  const { name, port } = service;
  const headers = service.headers(round);
  const file = join(scratch, 'lines.ndjson');
  const bare = join(scratch, 'bare.sqlite');
  const copy = join(scratch, 'copy.sqlite');
  for (const path of [file, bare, copy]) rmSync(path, { force: true });
  for (const { work, path, encoding } of WORKS) {
    const outcome = await readStream({
      ...{ port, path, file: path === FEED ? file : null, insertInto: path === FEED ? bare : null },
      headers: { ...headers, 'accept-encoding': encoding },
    });
    found.add(work, name, 'records/s', outcome.lines / outcome.seconds);
    if (path === FEED) await measurePolls(service, round, outcome, found);
    if (path === FEED) found.add('first copy of everything', `bare inserts, after ${name}`, 's', outcome.insertSeconds);
  }
  const begunAt = performance.now();
  const env = {
    PARTNER_DATA_URL: `http://127.0.0.1:${port}`,
    PARTNER_DATA_KEY: String(headers['Authorization']).replace('Bearer ', ''),
  };
  await readOutput(process.execPath, [MIRROR, '--sqlite', copy], env);
  found.add('first copy of everything', `the mirror, of ${name}`, 's', (performance.now() - begunAt) / 1_000);
}

/** The CPU time of a poll that finds nothing new. */
async function measurePolls(
  service: RunningService,
  round: number,
  { lastLine }: StreamOutcome,
  found: Figures,
): Promise<void> {
  const { name, port, process: server } = service;
  const { meta } = JSON.parse(lastLine) as { meta: { watermark: string } };
  const before = cpuSeconds(server.pid);
  for (let poll = 0; poll < POLLS; poll++) {
    // Never the same URL, so that no response is from the cache.
    const query = new URLSearchParams({ updated_since: meta.watermark, limit: String(poll + 1) });
    const response = await fetch(`http://127.0.0.1:${port}/v1/changes?${query.toString()}`, {
      headers: service.headers(round),
    });
    const body = await response.text();
    if (!body.startsWith('{"data":[],')) throw new Error(`something is new: ${body.slice(0, 200)}`);
  }
  const after = cpuSeconds(server.pid);
  if (before === null || after === null) return;
  found.add('a poll without news', name, 'ms', ((after - before) * 1_000) / POLLS);
}

/** PostgreSQL's own way to send the same texts. */
async function measureCopy({ market, settings }: BenchContext, found: Figures): Promise<void> {
  if (!settings.engines.includes('postgres')) return;
  const database = market.databases.postgres;
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    const begunAt = performance.now();
    const copied = client.query(
      copyTo('copy (select document from catalog.solicitations order by position) to stdout'),
    );
    for await (const chunk of copied as AsyncIterable<Buffer>) if (chunk.length === 0) break;
    const rate = market.solicitations / ((performance.now() - begunAt) / 1_000);
    found.add('all solicitations as a stream', "PostgreSQL's COPY", 'records/s', rate);
  } finally {
    await client.end();
  }
}

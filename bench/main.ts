import { Command, InvalidArgumentError } from 'commander';
import { mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SOLICITATION_COUNTS } from './dataset/sizes.ts';
import { stopAllProcesses } from './machine/processes.ts';
import { ENGINES } from './market/market.ts';
import { runBench } from './measure/bench.ts';
import { note } from './measure/progress.ts';
import { RESULTS_NAME, ResultsStore } from './measure/results.ts';
import { PARTS } from './parts/parts.ts';
import { REPORT_FOLDER, writeReport } from './report/write-report.ts';

/* Program: measures the requested parts and writes the report. */

interface Options {
  only?: string[];
  sizes: number[];
  rounds: number;
  seconds: number;
  connections: number;
  samples: number;
  folder: string;
  report: string;
  engines: (typeof ENGINES)[number][];
  peers: boolean;
  fresh: boolean;
  clean: boolean;
  postgres?: string;
  smoke: boolean;
}

/** Few enough that the service can serve all of them in one event-loop tick. */
const SMOKE_CONNECTIONS = 8;

const command = new Command('bench')
  .description(`Measures the service beside its baselines. Parts: ${PARTS.map(({ name }) => name).join(', ')}.`)
  .argument(
    '[parts...]',
    'only these parts',
    (text: string, previous: string[]) => [...previous, ...parseParts(text)],
    [],
  )
  .option('--only <parts>', 'only these parts, comma-separated', parseParts)
  .option('--sizes <n,…>', 'solicitations in the markets', numbers, [...SOLICITATION_COUNTS])
  .option('--rounds <n>', 'interleaved rounds', number, 5)
  .option('--seconds <n>', 'of load in each round', number, 3)
  .option('--connections <n>', 'that ask at once', number, 32)
  .option('--samples <n>', 'requests one at a time for a latency', number, 600)
  .option('--folder <folder>', 'for data and databases; kept, and used again', join(tmpdir(), 'pds-bench'))
  .option('--report <folder>', 'where the report and its results go', REPORT_FOLDER)
  .option('--engines <names>', 'sqlite, postgres or both', engines, [...ENGINES])
  .option('--postgres <folder>', 'of the programs of an installed PostgreSQL, in place of the development dependency')
  .option('--no-peers', 'without the products that have to be installed first')
  .option('--fresh', 'fill all databases anew', false)
  .option('--clean', 'remove the folder at the end', false)
  .option('--smoke', 'only whether everything runs and answers: short rounds, no report', false);

const options = command.parse().opts<Options>();
const chosen = [...new Set([...(options.only ?? []), ...(command.processedArgs[0] as string[])])];
const folder = options.smoke ? join(options.folder, 'smoke') : options.folder;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    note(`${signal}: stopping what was started`);
    void stopAllProcesses().then(() => process.exit(130));
  });
}

if (options.fresh) rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const report = options.smoke ? folder : options.report;
mkdirSync(report, { recursive: true });
const store = new ResultsStore(join(report, RESULTS_NAME));
try {
  await runBench({
    parts: PARTS.filter(({ name, isLong }) =>
      chosen.length === 0 ? !(options.smoke && isLong === true) : chosen.includes(name),
    ),
    sizes: options.smoke ? [Math.min(...options.sizes)] : options.sizes.sort((a, b) => a - b),
    folder,
    store,
    postgresPrograms: options.postgres ?? null,
    withPeers: options.peers && !options.smoke,
    settings: {
      rounds: options.smoke ? 1 : options.rounds,
      seconds: options.smoke ? 1 : options.seconds,
      // A freshly started process is slow and briefly refuses many connections. With this few, it must refuse none.
      connections: options.smoke ? SMOKE_CONNECTIONS : options.connections,
      samples: options.smoke ? 20 : options.samples,
      engines: options.engines,
      isSmoke: options.smoke,
    },
  });
  if (options.smoke) note('smoke: everything ran, and every answer was a success');
  else await writeReport(store.results, report);
} catch (error) {
  note(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
} finally {
  await stopAllProcesses();
  if (options.clean) rmSync(folder, { recursive: true, force: true });
}

function parseParts(text: string): string[] {
  const names = text.split(',');
  const unknown = names.find((name) => !PARTS.some((part) => part.name === name));
  if (unknown !== undefined) {
    throw new InvalidArgumentError(`The parts are ${PARTS.map(({ name }) => name).join(', ')}.`);
  }
  return names;
}

function number(text: string): number {
  if (!/^\d+$/.test(text) || Number(text) === 0) throw new InvalidArgumentError('Give a whole number above 0.');
  return Number(text);
}

function numbers(text: string): number[] {
  return text.split(',').map(number);
}

function engines(text: string): (typeof ENGINES)[number][] {
  const names = text.split(',');
  return names.map((name) => {
    const engine = ENGINES.find((known) => known === name);
    if (engine === undefined) throw new InvalidArgumentError('The engines are sqlite and postgres.');
    return engine;
  });
}

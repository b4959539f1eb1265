import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isInstalled } from './machine/cores.ts';
import { stopAllProcesses } from './machine/processes.ts';
import { ENGINES } from './market/databases.ts';
import { runBench } from './measure/bench.ts';
import { note } from './measure/progress.ts';
import { RESULTS_NAME, ResultsStore } from './measure/results.ts';
import { PARTS } from './parts/parts.ts';
import { REPORT_FOLDER, writeReport } from './report/write-report.ts';

/* Program: measures the requested parts and writes the report. */

interface Options {
  sizes: number[];
  rounds: number;
  seconds: number;
  connections: number;
  samples: number;
  folder: string;
  report: string;
  engines: (typeof ENGINES)[number][];
  peers: boolean;
  resume: boolean;
  fresh: boolean;
  smoke: boolean;
}

/** A freshly started process is slow and briefly refuses many connections. With this few, it must refuse none. */
const SMOKE = { withPeers: false, rounds: 1, seconds: 1, connections: 8, samples: 20 };

const command = new Command('bench')
  .description('Measures the service beside its baselines.')
  .addArgument(new Argument('[parts...]', 'only these parts').choices(PARTS.map(({ name }) => name)))
  .option('--sizes <n,…>', 'solicitations in the markets', numbers, [10_000, 100_000, 1_000_000])
  .option('--rounds <n>', 'interleaved rounds', number, 5)
  .option('--seconds <n>', 'of load in each round', number, 3)
  .option('--connections <n>', 'open at the same time', number, 32)
  .option('--samples <n>', 'requests one at a time, in each round', number, 600)
  .option('--folder <folder>', 'for data and databases; kept, and used again', join(tmpdir(), 'pds-bench'))
  .option('--report <folder>', 'where the report and its results go', REPORT_FOLDER)
  .addOption(new Option('--engines <names...>', 'only these').choices(ENGINES).default(ENGINES))
  .option('--no-peers', 'without the products that have to be installed first')
  .option('--resume', 'skip the parts that were measured on this machine, from the same sources', false)
  .option('--fresh', 'fill all databases again', false)
  .option('--smoke', 'only check that everything runs and responds: short rounds, no report', false)
  .addHelpText(
    'after',
    `
A complete run, on a quiet machine with two cores and wrk; it takes hours:
  npm run bench -- --fresh             measures every part at every size, beside every peer, and writes the report
  npm run bench -- --resume            continues it, if it was interrupted or a part failed`,
  );

const options = command.parse().opts<Options>();
for (const program of ['wrk', 'curl']) {
  if (!isInstalled(program)) command.error(`${program} is not installed. Install it with: apt-get install ${program}`);
}
const { engines, peers: withPeers, rounds, seconds, connections, samples, smoke: isSmoke } = options;
const chosen = command.args;
const folder = isSmoke ? join(options.folder, 'smoke') : options.folder;
const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    note(`${signal}: stopping what was started`);
    interruption.abort();
    void stopAllProcesses().then(() => process.exit(130));
  });
}

// Results of an earlier version can have another format.
if (options.fresh || isSmoke) rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const report = isSmoke ? folder : options.report;
mkdirSync(report, { recursive: true });
const store = new ResultsStore(join(report, RESULTS_NAME));
try {
  await runBench({
    parts: PARTS.filter(({ name }) => chosen.length === 0 || chosen.includes(name)),
    sizes: isSmoke ? [Math.min(...options.sizes)] : options.sizes.sort((a, b) => a - b),
    folder,
    store,
    isResumed: options.resume,
    signal: interruption.signal,
    settings: { engines, withPeers, rounds, seconds, connections, samples, isSmoke, ...(isSmoke ? SMOKE : {}) },
  });
  if (isSmoke) note('smoke: everything ran, and every response was a success');
  else await writeReport(store.results, report);
} catch (error) {
  note(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
} finally {
  await stopAllProcesses();
}

function number(text: string): number {
  if (!/^\d+$/.test(text) || Number(text) === 0) throw new InvalidArgumentError('Give a whole number above 0.');
  return Number(text);
}

function numbers(text: string): number[] {
  return text.split(',').map(number);
}

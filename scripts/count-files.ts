import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { DEMO_KEY } from '../src/access/keys.ts';
import { program } from '../src/commands/program.ts';
import { loadDemo } from '../src/commands/serve/demo.ts';
import { startServing } from '../src/commands/serve/serving.ts';
import { readConfig } from '../src/config.ts';
import { openForCommands } from '../src/database/open.ts';
import { prepareSchema } from '../src/database/migrations/migrator.ts';

// `npm run count:files`: how many files of `src` someone must read to follow a list request and an import: those of
// which a function is called by one warm list request whose page is not cached, and by one `pds import` of a changed
// directory into an existing database. Code that runs when a module is loaded does not count.

const SOURCES = new URL('../src/', import.meta.url).href;

/** Words of other requests, before the one that counts: what every request needs is cached then, but not its own page. */
const WARM_WORDS = ['services', 'water', 'road', 'paint', 'software'];

const MAX_FILES_OF_LIST = 25;
const MAX_FILES_OF_IMPORT = 60;

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

const folder = await mkdtemp(join(tmpdir(), 'pds-count-'));
try {
  print('a list request', MAX_FILES_OF_LIST, await filesOfListRequest());
  print('an import', MAX_FILES_OF_IMPORT, await filesOfImport());
} finally {
  await rm(folder, { recursive: true });
}

/** The files whose functions were called while `work` ran, relative to `src`. */
async function filesCalledBy(work: () => Promise<unknown>): Promise<string[]> {
  await session.post('Profiler.takePreciseCoverage');
  await work();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const called = result.filter(
    ({ url, functions }) =>
      url.startsWith(SOURCES) &&
      // The function without a name that begins the file is the module itself.
      functions.some(
        ({ functionName, ranges: [range] }) => range?.count && (functionName !== '' || range.startOffset > 0),
      ),
  );
  return [...new Set(called.map(({ url }) => url.slice(SOURCES.length)))].sort();
}

async function filesOfListRequest(): Promise<string[]> {
  const url = `sqlite:${join(folder, 'list.sqlite')}`;
  const config = readConfig({ PDS_DATABASE_URL: url, PDS_PORT: '0' });
  {
    await using database = openForCommands(config.database);
    await prepareSchema(database, Date.now, 'serve');
    await loadDemo(database, Date.now);
  }
  const serving = await startServing(config, pino({ level: 'info' }, { write: () => undefined }));
  const list = async (word: string): Promise<void> => {
    const response = await fetch(`${serving.origin}/v1/solicitations?q=${word}&limit=25`, {
      headers: { authorization: `Bearer ${DEMO_KEY}` },
    });
    if (!response.ok) throw new Error(await response.text());
    await response.text();
    // The request is logged and counted when its response is closed.
    await new Promise(setImmediate);
  };
  for (const word of WARM_WORDS) await list(word);
  const files = await filesCalledBy(() => list('bridge'));
  await serving.close();
  return files;
}

async function filesOfImport(): Promise<string[]> {
  const directory = join(folder, 'directory');
  await cp(new URL('../sample', import.meta.url), directory, { recursive: true });
  await rm(join(directory, 'README.md'));
  for (const name of ['invented-subjects.ts', 'invented.ts']) await rm(join(directory, name));
  process.env['PDS_DATABASE_URL'] = `sqlite:${join(folder, 'import.sqlite')}`;
  const importDirectory = (): Promise<unknown> => program.parseAsync(['import', directory], { from: 'user' });
  await importDirectory();
  const contracts = join(directory, 'contracts.ndjson');
  const [first = '', ...others] = (await readFile(contracts, 'utf8')).split('\n');
  await writeFile(contracts, [first.replace(/"name":"/, '"name":"Changed '), ...others].join('\n'));
  return filesCalledBy(importDirectory);
}

function print(what: string, max: number, files: readonly string[]): void {
  const lines = [
    `${what} runs code of ${files.length} files, at most ${max}:`,
    ...files.map((file) => `  ${file}`),
    '',
  ];
  process.stdout.write(lines.join('\n'));
  if (files.length > max) process.exitCode = 1;
}

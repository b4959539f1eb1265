import { existsSync, globSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { useTemporaryFolderInMemory } from './test/support/temporary-folder.ts';

useTemporaryFolderInMemory();

/**
 * `npm test` runs these folders: under 150 seconds on two cores, with only what `npm ci` installs. A new test file belongs to
 * the set of its folder.
 */
const DEFAULT_FOLDERS = {
  sqlite: ['access', 'conformance', 'docs', 'http', 'index', 'publishing', 'rate-limiting', 'sync'].map(
    (name) => `test/${name}`,
  ),
  postgres: ['test/conformance'],
  client: ['client/test'],
};

/** Files in these folders that only `npm run test:all` runs, and why. */
const ONLY_IN_ALL = [
  // Need Redis.
  'test/rate-limiting/redis-*.sqlite.test.ts',
  // Repeats the model's requests as PostgreSQL's reader role.
  'test/conformance/reader-role.postgres.test.ts',
  // Changes thousands of records in each import.
  'test/index/rebuilt-blocks.test.ts',
  // Imports after each statement of many queries.
  'test/index/one-state.test.ts',
  // Run a mirror for each way that a copy or a clock can be wrong.
  'client/test/mirror/damage.test.ts',
  'client/test/mirror/clock.test.ts',
  // Run a mirror for each way that it can be used.
  'client/test/mirror/mirror.test.ts',
  'client/test/mirror/reports.test.ts',
  // Start Python for each way that a request can fail, and that a mirror can be used.
  'client/test/python/*.test.ts',
  // Request every list as streams of every form.
  'test/conformance/streams.test.ts',
  // Request every list and listing record by record, or wait for a key to end.
  'client/test/{cache,key-expiry,streams}.test.ts',
  // Sync with many clients while several processes write.
  'test/sync/{clients-without-watermarks,mirrors}.test.ts',
  // Import thousands of records.
  'test/publishing/large-import.test.ts',
  // Starts services, and stops them under load.
  'test/http/serving-process.sqlite.test.ts',
  // Waits for many intervals of a second.
  'client/test/mirror/watching.test.ts',
];

/** Files that only `npm run test:nightly` runs: they are slow and rarely find anything. */
const ONLY_AT_NIGHT = [
  // Downloads Deno, Bun and two versions of Node, 510 MB.
  'client/test/platforms/*.test.ts',
  // Builds, packs and installs the client; `portal/client-package` installs the one that the service hands out.
  'client/test/package.test.ts',
  // Waits for minutes, as a mirror does whose limit is used up.
  'client/test/mirror/waiting.test.ts',
  // Disturbs a whole cluster ten times.
  'test/cluster/patroni.postgres.test.ts',
  // Installs a cluster on three hosts, loses one, and waits for HAProxy's connections to end.
  'test/operating/three-hosts.alone.test.ts',
  // Steps the clocks of processes, and waits for minutes to end.
  'test/faults/clock.test.ts',
  // Measure under overload, on thousands of connections, and on every combination of filters.
  'test/load/{hostile-connections,overload}.alone.test.ts',
  'test/load/every-filter.test.ts',
  // Copies a large database.
  'test/recovery/transfer.both.test.ts',
  // Loses, replaces and locks databases of PostgreSQL under load, in every order.
  'test/faults/{locks-of-the-dead,postgres-outage}.postgres.test.ts',
  // Kill imports, migrations and counting services again and again; `faults/kills` kills each once.
  'test/faults/{killed-import.sqlite,migration}.test.ts',
  'test/usage/usage-process.test.ts',
  // Reads inputs of hundreds of megabytes.
  'convert/test/limits.unit.test.ts',
  // Fills the 64 MB buffer of index changes that is written at once.
  'test/index/index-changes.test.ts',
  // Load the portal's pages at many widths and with many keys; `portal/explorer` loads the explorer once.
  'test/portal/{demo,explorer-accessibility,explorer-key,explorer-views,pages,reference-page}.sqlite.test.ts',
  // Run each program of the guides, also against services that fail in many ways.
  'test/portal/{copy-examples,examples,failing-programs}.sqlite.test.ts',
  'test/portal/{postgresql-copy.postgres,recipes.sqlite}.test.ts',
  // Send thousands of random requests, and random import files.
  'test/fuzz/{http-surface,import-format}.test.ts',
  // Imports hundreds of megabytes, built to exhaust memory.
  'test/publishing/hostile-files.sqlite.test.ts',
  // Compare the times of small and large inputs.
  'test/security/linear-time.unit.test.ts',
  // Wait for clients that read a byte now and then.
  'test/paging/slow-readers.test.ts',
  // Starts commands in terminals of many kinds.
  'test/commands/terminal.sqlite.test.ts',
  // Start and kill services and commands dozens of times.
  'test/faults/{files,log-output,starting-and-ending}.sqlite.test.ts',
  'test/load/{shared-port.sqlite,sigterm}.test.ts',
  'test/recovery/{restore-killed,restore-refused,upgrade-killed}.sqlite.test.ts',
  // Fill small disks again and again.
  'test/faults/disk-full.test.ts',
  // Wait for services that hang behind nginx, for windows of a limit that services share, and for Redis to fail.
  'test/http/redis-rate-limiter.sqlite.test.ts',
  'test/rate-limiting/redis-faults.sqlite.test.ts',
  'test/operating/nginx.sqlite.test.ts',
  // Run the longer procedures of the operators' guide; `operating/documents.sqlite` runs its commands.
  'test/operating/{procedures.sqlite,converting.sqlite,documents.postgres}.test.ts',
  // Runs services of the version before; `recovery/version-before` restores its backups.
  'test/upgrade/upgrade.test.ts',
  // Check alerts, dashboards and settings with the programs that load them, and metrics of servers that fail.
  'test/monitoring/{ops-files.sqlite,installation.postgres}.test.ts',
  // Builds the image of the Containerfile.
  'test/operating/image.sqlite.test.ts',
  // Loads exported lists into spreadsheets and tools.
  'tools/test/loading.postgres.test.ts',
  // Downloads four generators of clients, 200 MB.
  'tools/test/openapi-clients.unit.test.ts',
  // Measures everything for a moment, and the earlier version too.
  'tools/test/benchmark.postgres.test.ts',
];

/**
 * Tests of what does not depend on the database: they run on SQLite, and on PostgreSQL only at night. The files named here
 * after `!` test SQL, or errors of the drivers. `conformance/engines.both.test.ts` compares the responses of both databases.
 */
const ON_SQLITE = [
  'test/commands/!(*.postgres|check|find|usage).test.ts',
  'test/conformance/{certification-filter,isolation,model-agreement,schemas,streams}.test.ts',
  'test/faults/{descriptors,ending-key,interrupted-commands,kills}.test.ts',
  'test/fuzz/*.test.ts',
  'test/http/*.test.ts',
  'test/monitoring/metrics.test.ts',
  'test/paging/{cut-streams,failing-streams,page-size}.test.ts',
  'test/recovery/{export,index-damage,reindex}.test.ts',
  'test/security/!(*.postgres|additional-columns).test.ts',
];

/** Tests that run on PostgreSQL, and on SQLite only at night: they start many processes, and the engines hardly differ in them. */
const ON_POSTGRES = [
  'test/index/{one-state,rebuilt-blocks}.test.ts',
  'test/operating/faults.test.ts',
  'test/recovery/lost-history.test.ts',
  'test/security/additional-columns.test.ts',
  'test/sync/mirrors.test.ts',
];

/** `default`, `all` or `nightly`, by the npm script. `npx vitest run FILE` can run every file. */
const SET = process.env['TEST_SET'];
const isDefaultSet = SET === 'default';
const isNightly = SET === 'nightly';
const isByDay = isDefaultSet || SET === 'all';
const LEFT_OUT = [...(isDefaultSet ? ONLY_IN_ALL : []), ...(isByDay ? ONLY_AT_NIGHT : [])];

/** Files with tests that run more examples at night (`test/support/runs.ts`). */
const RUN_MORE = isNightly
  ? globSync('test/**/*.test.ts').filter((file) => readFileSync(file, 'utf8').includes('numberOfRuns('))
  : [];

/** Tests of functions that use no database: they run once. */
const UNIT = '**/*.unit.test.ts';

/** Tests that query both databases and compare: they run once, in the project with PostgreSQL. */
const BOTH = '**/*.both.test.ts';

/**
 * Tests that measure response times on both databases, and one of a cluster whose leases end when a machine is too busy: they
 * run last, with nothing in parallel.
 */
const ALONE = ['test/**/*.alone.test.ts', 'test/cluster/patroni.postgres.test.ts'];

const isAlone = (file: string): boolean => file.endsWith('.alone.test.ts') || ALONE.includes(file);
const ALONE_IN_SET = isNightly ? [...ONLY_AT_NIGHT, ...RUN_MORE].filter(isAlone) : ALONE;

/** Tests of one engine only. */
const SQLITE = '**/*.sqlite.test.ts';
const POSTGRES = '**/*.postgres.test.ts';

/** Tests that need the packages of tools/; if these are not installed, one that is skipped. */
const TOOLS = existsSync(new URL('tools/node_modules/.package-lock.json', import.meta.url))
  ? 'tools/test'
  : 'tools/not-installed.unit.test.ts';

/** The same for the packages of mcp/. */
const MCP = existsSync(new URL('mcp/node_modules/.package-lock.json', import.meta.url))
  ? 'mcp/test'
  : 'mcp/not-installed.unit.test.ts';

/** The test files of a project, without those of other projects. At night only what `npm run test:all` does not run. */
function filesOf(project: keyof typeof DEFAULT_FOLDERS, others: readonly string[] = []) {
  const exclude = [...others, ...LEFT_OUT];
  if (isNightly) {
    const more = [...RUN_MORE, ...{ sqlite: ON_POSTGRES, postgres: ON_SQLITE, client: [] }[project]];
    const isOfProject = (file: string) => file.startsWith('client/') === (project === 'client');
    return { include: [...ONLY_AT_NIGHT, ...more].filter(isOfProject), exclude };
  }
  const everything = project === 'client' ? ['client/test', MCP] : ['test', 'convert/test', TOOLS];
  const folders = isDefaultSet ? DEFAULT_FOLDERS[project] : everything;
  return { include: folders.map((folder) => (folder.endsWith('.ts') ? folder : `${folder}/**/*.test.ts`)), exclude };
}

/**
 * The same files run on each engine; a test checks `inject('engine')` only if the engines differ. PostgreSQL is not
 * needed for `vitest --project sqlite`. The partners' client uses no database, so its tests run once.
 */
export default defineConfig({
  test: {
    pool: 'forks',
    // One more than cores: most tests wait for a process, a socket or a database more than they compute.
    maxWorkers: 3,
    // For a slow machine: no test is about time that has not its own limit.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    setupFiles: ['test/support/clean-environment.ts'],
    provide: { isNightly },
    projects: [
      {
        extends: true,
        test: {
          name: 'sqlite',
          ...filesOf('sqlite', [...ALONE, BOTH, POSTGRES, ...(isByDay ? ON_POSTGRES : [])]),
          provide: { engine: 'sqlite' },
          globalSetup: ['test/support/built-portal.ts', 'test/support/bundled-program.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          ...filesOf('postgres', [...ALONE, UNIT, SQLITE, ...(isByDay ? ON_SQLITE : [])]),
          provide: { engine: 'postgres' },
          globalSetup: ['test/support/postgres.ts', 'test/support/bundled-program.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: isDefaultSet ? [] : ALONE_IN_SET,
          exclude: LEFT_OUT,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
          globalSetup: ['test/support/postgres.ts', 'test/support/bundled-program.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'client',
          ...filesOf('client'),
          provide: { engine: 'sqlite' },
          globalSetup: ['test/support/bundled-program.ts'],
        },
      },
    ],
  },
});

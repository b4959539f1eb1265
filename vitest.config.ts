import { existsSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

/**
 * The folders that `npm test` runs in each project: under four minutes on two cores, with only what `npm ci` installs.
 * `npm run test:all` runs every folder. A new test file belongs to the set of its folder.
 */
const DEFAULT_FOLDERS = {
  sqlite: ['access', 'conformance', 'docs', 'http', 'index', 'publishing', 'rate-limiting', 'sync'].map(
    (name) => `test/${name}`,
  ),
  postgres: ['conformance', 'index', 'sync'].map((name) => `test/${name}`),
  client: ['client/test'],
};

/** Files in these folders that only `npm run test:all` runs, and why. */
const ONLY_IN_ALL = [
  // Need Redis.
  'test/http/redis-rate-limiter.sqlite.test.ts',
  'test/rate-limiting/redis-*.sqlite.test.ts',
  // Repeats the model's requests as PostgreSQL's reader role.
  'test/conformance/reader-role.postgres.test.ts',
  // Builds, packs and installs the client.
  'client/test/package.test.ts',
  // Downloads other runtimes.
  'client/test/platforms/**',
  // Imports hundreds of megabytes, built to exhaust memory.
  'test/publishing/hostile-files.sqlite.test.ts',
  // Changes thousands of records in each import.
  'test/index/rebuilt-blocks.test.ts',
  // Imports after each statement of many queries.
  'test/index/one-state.test.ts',
  // Fills the 64 MB buffer of index changes that is written at once.
  'test/index/index-changes.test.ts',
  // Run a mirror for each way that a copy or a clock can be wrong.
  'client/test/mirror/damage.test.ts',
  'client/test/mirror/clock.test.ts',
  // Run a mirror for each way that it can be used.
  'client/test/mirror/mirror.test.ts',
  'client/test/mirror/reports.test.ts',
  // Takes the former version out of git, and starts its mirror.
  'client/test/mirror/takeover.test.ts',
  // Start workers, kill them, and count their requests.
  'test/http/serving-process.sqlite.test.ts',
  // Wait for a minute, and for many intervals of a second.
  'client/test/mirror/waiting.test.ts',
  'client/test/mirror/watching.test.ts',
];

/** Set by `npm test`. `npx vitest run FILE` can run every file. */
const isDefaultSet = process.env['TEST_SET'] === 'default';

/** Tests of functions that use no database: they run once. */
const UNIT = '**/*.unit.test.ts';

/** Tests that query both databases and compare: they run once, in the project with PostgreSQL. */
const BOTH = '**/*.both.test.ts';

/**
 * Tests that measure response times on both databases, and one of a cluster whose leases end when a machine is too busy: they
 * run last, with nothing in parallel.
 */
const ALONE = ['test/**/*.alone.test.ts', 'test/cluster/patroni.postgres.test.ts'];

/** Tests of one engine only. */
const SQLITE = '**/*.sqlite.test.ts';
const POSTGRES = '**/*.postgres.test.ts';

/** Tests that need the packages of tools/; if these are not installed, one that is skipped. */
const TOOLS = existsSync(new URL('tools/node_modules/.package-lock.json', import.meta.url))
  ? 'tools/test'
  : 'tools/not-installed.unit.test.ts';

/** The test files of a project, without those of other projects. */
function filesOf(project: keyof typeof DEFAULT_FOLDERS, others: readonly string[] = []) {
  const everything = project === 'client' ? ['client/test'] : ['test', 'convert/test', TOOLS];
  const folders = isDefaultSet ? DEFAULT_FOLDERS[project] : everything;
  return {
    include: folders.map((folder) => (folder.endsWith('.ts') ? folder : `${folder}/**/*.test.ts`)),
    exclude: [...others, ...(isDefaultSet ? ONLY_IN_ALL : [])],
  };
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
    testTimeout: 30_000,
    hookTimeout: 30_000,
    setupFiles: ['test/support/clean-environment.ts'],
    provide: { isDefaultSet },
    projects: [
      {
        extends: true,
        test: {
          name: 'sqlite',
          ...filesOf('sqlite', [...ALONE, BOTH, POSTGRES]),
          provide: { engine: 'sqlite' },
          globalSetup: ['test/support/built-portal.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          ...filesOf('postgres', [...ALONE, UNIT, SQLITE]),
          provide: { engine: 'postgres' },
          globalSetup: ['test/support/postgres.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: isDefaultSet ? [] : ALONE,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
          globalSetup: ['test/support/postgres.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'client',
          ...filesOf('client'),
          provide: { engine: 'sqlite' },
        },
      },
    ],
  },
});

import { defineConfig } from 'vitest/config';

/**
 * The folders that `npm test` runs, for each project: within three minutes on two cores, with nothing but what `npm ci`
 * installed. `npm run test:all` runs every folder, these included, so a new test file is in the set of its folder.
 */
const DEFAULT_FOLDERS = {
  sqlite: ['access', 'conformance', 'docs', 'http', 'index', 'publishing', 'sync'].map((name) => `test/${name}`),
  postgres: ['conformance', 'index', 'sync'].map((name) => `test/${name}`),
  client: ['client/test'],
};

/** Files in these folders that only `npm run test:all` runs, each with its reason. */
const ONLY_IN_ALL = [
  // Needs Redis.
  'test/http/shared-limits.test.ts',
  // Repeats the model's questions as PostgreSQL's reader role.
  'test/conformance/reader-role.postgres.test.ts',
  // Asks the model's questions on both engines once more.
  'test/conformance/served-queries.both.test.ts',
  // Builds, packs and installs the client.
  'client/test/package.test.ts',
  // Downloads other runtimes.
  'client/test/platforms/**',
  // Imports hundreds of megabytes that were made to fill the memory.
  'test/publishing/hostile-files.test.ts',
  // Changes thousands of records in each publication.
  'test/index/rebuilt-blocks.test.ts',
  // Publishes after each of the statements of many queries.
  'test/index/one-state.test.ts',
  // Fills the 64 MB of changes that are gathered before any is written.
  'test/index/index-changes.test.ts',
  // Start a process of the mirror for each way in which a copy or a clock can be wrong.
  'client/test/mirror/damage.test.ts',
  'client/test/mirror/clock.test.ts',
  // Waits for a minute to pass.
  'client/test/mirror/waiting.test.ts',
];

/** Set by `npm test`. `npx vitest run FILE` knows every file. */
const isDefaultSet = process.env['TEST_SET'] === 'default';

/** Tests of functions that touch no database, by the name of their file: once is enough for them. */
const UNIT = 'test/**/*.unit.test.ts';

/** Tests that ask both databases themselves and compare: once too, where PostgreSQL is running. */
const BOTH = 'test/**/*.both.test.ts';

/** Tests that ask both, and measure how soon they are answered: run last, with nothing beside them. */
const ALONE = 'test/**/*.alone.test.ts';

/** Tests of what only one of them has. */
const SQLITE = 'test/**/*.sqlite.test.ts';
const POSTGRES = 'test/**/*.postgres.test.ts';

/** The test files of a project, without those that another one runs. */
function filesOf(project: keyof typeof DEFAULT_FOLDERS, others: readonly string[] = []) {
  const folders = isDefaultSet ? DEFAULT_FOLDERS[project] : [project === 'client' ? 'client/test' : 'test'];
  return {
    include: folders.map((folder) => `${folder}/**/*.test.ts`),
    exclude: [...others, ...(isDefaultSet ? ONLY_IN_ALL : [])],
  };
}

/**
 * The same files run on each engine, so that a test tells which of them it is about only where
 * they differ: `inject('engine')`. `vitest --project sqlite` needs no PostgreSQL. The partners' client is tested once:
 * databases are no business of its.
 */
export default defineConfig({
  test: {
    pool: 'forks',
    // Each worker keeps its database busy as well. The default tests wait more than they compute.
    maxWorkers: isDefaultSet ? 3 : 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    setupFiles: ['test/support/clean-environment.ts'],
    provide: { isDefaultSet },
    projects: [
      {
        extends: true,
        test: {
          name: 'sqlite',
          ...filesOf('sqlite', [ALONE, BOTH, POSTGRES]),
          provide: { engine: 'sqlite' },
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          ...filesOf('postgres', [ALONE, UNIT, SQLITE]),
          provide: { engine: 'postgres' },
          globalSetup: ['test/support/postgres.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: isDefaultSet ? [] : [ALONE],
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

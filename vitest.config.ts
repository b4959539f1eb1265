import { defineConfig } from 'vitest/config';

/** Tests of functions that touch no database, by the name of their file: once is enough for them. */
const UNIT = 'test/**/*.unit.test.ts';

/** Tests that ask both databases themselves and compare: once too, where PostgreSQL is running. */
const BOTH = 'test/**/*.both.test.ts';

/** Tests of what only one of them has. */
const SQLITE = 'test/**/*.sqlite.test.ts';
const POSTGRES = 'test/**/*.postgres.test.ts';

/**
 * The same files run on each engine, so that a test tells which of them it is about only where
 * they differ: `inject('engine')`. `vitest --project sqlite` needs no PostgreSQL. The partners' client is tested once:
 * databases are no business of its.
 */
export default defineConfig({
  test: {
    pool: 'forks',
    // Each worker keeps its database busy as well.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    setupFiles: ['test/support/clean-environment.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'sqlite',
          include: ['test/**/*.test.ts'],
          exclude: [BOTH, POSTGRES],
          provide: { engine: 'sqlite' },
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: ['test/**/*.test.ts'],
          exclude: [UNIT, SQLITE],
          provide: { engine: 'postgres' },
          globalSetup: ['test/support/postgres.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'client',
          include: ['client/test/**/*.test.ts'],
          provide: { engine: 'sqlite' },
        },
      },
    ],
  },
});

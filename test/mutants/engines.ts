import { LIKE_ENGINES, AGREEMENT, type Mutant } from './mutant.ts';

/** Faults of one database engine. */
export const ENGINES: readonly Mutant[] = [
  {
    name: "PostgreSQL orders ids as the machine's language does",
    breaks: LIKE_ENGINES,
    file: 'src/database/migrations/schema.ts',
    original: `TEXT: 'text collate "C"'`,
    replacement: "TEXT: 'text'",
    tests: AGREEMENT,
    project: 'postgres',
  },
  {
    name: 'PostgreSQL orders the tenth record of a page before the second',
    breaks: LIKE_ENGINES,
    file: 'src/database/statement.ts',
    original: "? sql<string | null>`string_agg(${sql.ref(text)}, ',' order by ${sql.ref(ordinal)})`",
    replacement: "? sql<string | null>`string_agg(${sql.ref(text)}, ',' order by cast(${sql.ref(ordinal)} as text))`",
    tests: AGREEMENT,
    project: 'postgres',
  },
  {
    name: 'COPY takes a carriage return in a text for the end of a line',
    breaks: LIKE_ENGINES,
    file: 'src/database/postgres/postgres-copy.ts',
    original: 'value.replaceAll(/[\\\\\\t\\n\\r]/g,',
    replacement: 'value.replaceAll(/[\\\\\\t\\n]/g,',
    tests: ['test/database/copy.postgres.test.ts'],
    project: 'postgres',
  },
  {
    name: 'SQLite commits access before the catalog',
    breaks: 'A reader that sees a timestamp in access finds the release in catalog',
    file: 'src/database/sqlite/sqlite.ts',
    original: "for (const schema of ['catalog', 'access'] as const) {",
    replacement: "for (const schema of ['access', 'catalog'] as const) {",
    tests: ['test/faults/half-committed.sqlite.test.ts'],
  },
];

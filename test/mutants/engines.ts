import { AGREEMENT, faults, LIKE_ENGINES } from './mutant.ts';

/** Faults of one database engine. */
export const ENGINES = faults({ breaks: LIKE_ENGINES, tests: AGREEMENT }, [
  {
    name: 'PostgreSQL orders the tenth record of a page before the second',
    file: 'src/database/postgres/postgres.ts',
    original: '(${texts} order by ordinal)',
    replacement: '(${texts} order by cast(ordinal as text))',
    project: 'postgres',
  },
  {
    name: 'COPY takes a carriage return in a text for the end of a line',
    file: 'src/database/postgres/postgres-copy.ts',
    original: 'value.replaceAll(/[\\\\\\t\\n\\r]/g,',
    replacement: 'value.replaceAll(/[\\\\\\t\\n]/g,',
    tests: ['test/database/copy.postgres.test.ts'],
    project: 'postgres',
  },
  {
    name: 'SQLite orders the tenth record of a page before the second',
    file: 'src/database/statement.ts',
    original: ': sql`(select value, key as ordinal from json_each(${parameter(name)})) as ${sql.ref(alias)}`;',
    replacement:
      ': sql`(select value, key as ordinal from json_each(${parameter(name)}) order by cast(key as text) limit 1000) as ${sql.ref(alias)}`;',
  },
]);

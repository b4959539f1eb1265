import pg from 'pg';
import { sql } from 'kysely';
import type { OpenDatabase } from '../../src/database/database.ts';
import type { ServingStatement } from './serving-statements.ts';

/** A statement that reads all rows of a table or of an index, and the step of its plan that does. */
export interface Scan {
  readonly statement: string;
  readonly step: string;
}

type Statement = Pick<ServingStatement, 'name' | 'text'>;

/** Tables that do not grow with the catalog, the partners or time: PostgreSQL scans those of one page of the disk. */
const SMALL =
  /\b(settings|migrations|certifications?|lead_entities|coops|city_services|index_blocks|sqlite_schema|pg_class|pg_namespace)\b/;

/** Scans of tables that grow, by the statement. */
const ACCEPTED: Readonly<Record<string, RegExp>> = {
  // Runs when the revision has changed, for the metrics: an index on the end of keys would cost each change of a key more.
  'keys that end': /\b(keys?|partners?)\b/,
};

/** The scans in SQLite's plans. They depend only on the schema: the service gathers no statistics there. */
export async function findScansOnSqlite({ kysely }: OpenDatabase, statements: readonly Statement[]): Promise<Scan[]> {
  const scans: Scan[] = [];
  for (const { name, text } of statements) {
    const { rows } = await sql.raw<{ detail: string }>(`explain query plan ${text}`).execute(kysely);
    const steps = rows.map(({ detail }) => detail);
    const subqueries = steps.flatMap((step) => /^(?:MATERIALIZE|CO-ROUTINE) (\S+)/.exec(step)?.[1] ?? []);
    for (const step of steps) {
      const [, scanned = ''] = /^SCAN (\S+)/.exec(step) ?? [];
      const isTable = scanned !== '' && scanned !== 'CONSTANT' && !scanned.startsWith('(');
      // A plan does not show the limit: of the events and releases, only the last is read, by an index.
      const isLastEvent = /^(access\.events|catalog\.releases)$/.test(scanned) && step.includes(' USING INDEX ');
      if (isTable && !step.includes('VIRTUAL TABLE') && !subqueries.includes(scanned) && !isLastEvent)
        scans.push({ statement: name, step });
    }
  }
  return scans.filter(isRefused);
}

/** The scans in PostgreSQL's generic plans, made without values of parameters. Requires PostgreSQL 16. */
export async function findScansOnPostgres(url: string, statements: readonly Statement[]): Promise<Scan[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const scans: Scan[] = [];
    for (const { name, text } of statements) {
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain (generic_plan, costs off) ${text}`);
      const steps = rows.map((row) => row['QUERY PLAN'].trim().replace(/^->\s*/, ''));
      for (const [index, step] of steps.entries()) {
        const isWholeIndex =
          /^Index (Only )?Scan /.test(step) &&
          steps[index + 1]?.startsWith('Index Cond:') !== true &&
          steps[index - 1] !== 'Limit';
        if (step.startsWith('Seq Scan ') || isWholeIndex) scans.push({ statement: name, step });
      }
    }
    return scans.filter(isRefused);
  } finally {
    await client.end();
  }
}

function isRefused({ statement, step }: Scan): boolean {
  return !SMALL.test(step) && ACCEPTED[statement]?.test(step) !== true;
}

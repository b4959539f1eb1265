import pg from 'pg';
import { beforeEach, describe, expect, inject, test } from 'vitest';
import { migrate, readSchemaState } from '../../src/database/migrations/migrator.ts';
import { callPds } from '../commands/call-pds.ts';
import { databaseUrlOf } from '../commands/run-pds.ts';
import { databaseForEachTest } from '../support/database.ts';
import { interrupted, Interruption } from '../support/process/interruption.ts';
import { publishLines, SMALL_CATALOG } from '../support/publishing.ts';
import { becomeLaterVersion, CURRENT_NUMBERS } from '../support/schema/later-version.ts';
import { readSchemaTexts } from '../support/schema/schema-texts.ts';

const IDS = SMALL_CATALOG.suppliers.map(({ id }) => id).sort();

const made = databaseForEachTest();
beforeEach(() => publishLines(made.database, SMALL_CATALOG));

/** The schema, and the numbers in the ledger of each group. */
async function schema(): Promise<unknown> {
  return { texts: await readSchemaTexts(made.database), ...(await steps()) };
}

async function steps(): Promise<{ catalog: number; access: number }> {
  const last = async (group: 'catalog' | 'access'): Promise<number> =>
    Math.max(
      ...(await made.database.kysely.selectFrom(`${group}.migrations`).select('number').execute()).map(
        (row) => row.number,
      ),
    );
  return { catalog: await last('catalog'), access: await last('access') };
}

/** The oldest schema version whose servers accept this one. */
async function oldestServed(): Promise<string | undefined> {
  const rows = await made.database.kysely.selectFrom('access.settings').selectAll().execute();
  return rows.find(({ name }) => name === 'oldest_served_catalog')?.value;
}

async function supplierIds(): Promise<string[]> {
  const rows = await made.database.kysely.selectFrom('catalog.suppliers').select('id').orderBy('position').execute();
  return rows.map(({ id }) => id);
}

/**
 * Migrates with an interruption at one statement after the other, until a migration completes. Each interrupted attempt
 * must leave the schema as it was, or with one or more complete steps.
 *
 * @returns the number of interruptions.
 */
async function interruptAtEach(
  every: number,
  attempt: (statement: number) => Promise<'done' | 'interrupted'>,
): Promise<number> {
  using _later = becomeLaterVersion();
  let before = await schema();
  let stepsBefore = await steps();
  let interruptions = 0;
  for (let statement = 1; (await attempt(statement)) === 'interrupted'; statement += every) {
    interruptions += 1;
    const stepsNow = await steps();
    expect(new Set(await supplierIds())).toEqual(new Set(IDS));
    if (stepsNow.catalog + stepsNow.access > stepsBefore.catalog + stepsBefore.access) {
      expect(await oldestServed()).toBe(String(CURRENT_NUMBERS.catalog));
      stepsBefore = stepsNow;
      before = await schema();
      // Fewer statements remain.
      statement = 1 - every;
    } else {
      expect(await schema()).toEqual(before);
    }
  }
  expect(await readSchemaState(made.database)).toEqual({ isEmpty: false, pending: [] });
  const { catalog, access } = CURRENT_NUMBERS;
  expect(await steps()).toEqual({ catalog: catalog + 1, access: access + 1 });
  expect(await supplierIds()).toEqual(IDS);
  // Nothing remains to be done, and a command accepts the schema.
  expect(await callPds(['partner', 'list', '--json'], made.settings)).toMatchObject({
    code: 0,
    stderr: '',
  });
  return interruptions;
}

/** Migrates in this process, in which the interruption makes a statement fail. */
async function attemptWith(interruption: Interruption): Promise<'done' | 'interrupted'> {
  try {
    await migrate(interrupted(made.database, interruption), Date.now);
    return 'done';
  } catch {
    return 'interrupted';
  }
}

describe('a migration interrupted at any statement loses nothing, and the next one completes it:', () => {
  test('by an error', async () => {
    const times = await interruptAtEach(1, (statement) => {
      const fail = (sent: number): void => {
        if (sent === statement) throw new Error('cut off here');
      };
      return attemptWith(new Interruption(fail));
    });
    expect(times).toBeGreaterThan(20);
  }, 120_000);

  if (inject('engine') === 'postgres') {
    test('by the loss of its connection', async () => {
      const server = new pg.Client({ connectionString: databaseUrlOf(made.config) });
      await server.connect();
      const times = await interruptAtEach(4, (statement) => {
        let isLost = false;
        // Between transactions, losing a connection has no effect.
        const lose = async (sent: number): Promise<void> => {
          if (isLost || sent < statement) return;
          const { rowCount } = await server.query(`select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and state = 'idle in transaction'`);
          isLost = rowCount === 1;
        };
        return attemptWith(new Interruption(() => undefined, lose));
      });
      await server.end();
      expect(times).toBeGreaterThan(10);
    }, 120_000);
  }
});

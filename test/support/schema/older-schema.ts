import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { afterAll } from 'vitest';
import type { Database, Engine } from '../../../src/database/database.ts';
import type { TableGroup } from '../../../src/database/migrations/schema.ts';
import { ledgerStatement } from '../../../src/database/migrations/migrator.ts';
import { runPdsOf } from '../../commands/run-pds.ts';
import { takeOutVersionBefore } from '../../upgrade/version-before.ts';
import { withImportDirectory, type ImportLines } from '../publishing.ts';

/** The ledger of a database that version 1.2 migrated, before and after `pds migrate --finish`. */
export const UNFINISHED = { catalog: 5, access: 7 };
export const FINISHED = { catalog: 6, access: 7 };

interface MigrationBefore {
  readonly number: number;
  readonly name: string;
  statements?(engine: Engine): string[];
}

let folder: string | null = null;
let before: string | null = null;
afterAll(() => {
  if (folder !== null) rmSync(folder, { recursive: true, force: true });
});

/** The command of the version before, taken out once for each test file. */
export function versionBefore(): string {
  folder ??= mkdtempSync(join(tmpdir(), 'pds-before-'));
  return (before ??= takeOutVersionBefore(folder));
}

/** Creates an empty database in the schema of version 1.2 or older: the first N steps of each group. */
export async function makeOlderSchema({ kysely, engine }: Database, steps: Record<TableGroup, number>): Promise<void> {
  const path = join(dirname(versionBefore()), 'database', 'migrations', 'migrations.ts');
  const { MIGRATIONS } = (await import(/* @vite-ignore */ pathToFileURL(path).href)) as {
    MIGRATIONS: Record<TableGroup, readonly MigrationBefore[]>;
  };
  for (const group of ['catalog', 'access'] as const) {
    if (engine === 'postgres') await sql.raw(`create schema ${group}`).execute(kysely);
    await sql.raw(ledgerStatement(group)).execute(kysely);
    for (const migration of MIGRATIONS[group].slice(0, steps[group])) {
      const { number, name } = migration;
      for (const statement of migration.statements?.(engine) ?? []) await sql.raw(statement).execute(kysely);
      await kysely.insertInto(`${group}.migrations`).values({ number, name, applied_at: '' }).execute();
    }
  }
}

/** Imports records with version 1.2. */
export async function importBefore(url: string, lines: ImportLines): Promise<void> {
  await withImportDirectory(lines, async (directory) => {
    const { code, stderr } = await runPdsOf(versionBefore(), ['import', directory], { PDS_DATABASE_URL: url });
    if (code !== 0) throw new Error(stderr);
  });
}

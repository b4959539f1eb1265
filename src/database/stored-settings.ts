import type { Database } from './database.ts';

/** The value of a row of `access.settings`; null if there is none. */
export async function readStoredSetting({ kysely }: Database, name: string): Promise<string | null> {
  const row = await kysely.selectFrom('access.settings').select('value').where('name', '=', name).executeTakeFirst();
  return row?.value ?? null;
}

/** Adds or replaces a row of `access.settings`. */
export async function storeSetting({ kysely }: Database, name: string, value: string): Promise<void> {
  await kysely
    .insertInto('access.settings')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
}

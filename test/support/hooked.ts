import type { OpenDatabase } from '../../src/database/database.ts';

interface Hooks {
  readonly before?: (statementKey: string) => unknown;
  /** With the rows, or the head of the texts that were read. */
  readonly after?: (rows: readonly unknown[], isOfTexts: boolean) => unknown;
}

/** The same database, which awaits these before and after each statement that serves. */
export function hooked(database: OpenDatabase, { before, after }: Hooks): OpenDatabase {
  return {
    ...database,
    async run(...statement) {
      await before?.(statement[0]);
      const rows = await database.run(...statement);
      await after?.(rows, false);
      return rows;
    },
    async readTexts(...statement) {
      await before?.(statement[0]);
      const read = await database.readTexts(...statement);
      await after?.([read.head], true);
      return read;
    },
  };
}

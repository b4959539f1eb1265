import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { OnProgress } from '../database/catalog-lock.ts';
import { inSnapshot, type Database } from '../database/database.ts';
import { readPublishedAt } from '../database/event-log.ts';
import { createFolder } from '../database/sqlite/durable-files.ts';
import { countRows } from '../database/rows.ts';
import { KINDS, TABLE_OF, type Kind } from '../kinds.ts';
import { describeTooLong } from '../publishing/read/record-schemas.ts';
import { readRecords } from '../publishing/write/stored-records.ts';
import { EPOCH } from '../timestamp.ts';

/**
 * Writes the catalog into a new folder in the import format while servers and imports run, from one snapshot. The folder
 * has a file for each kind, even if it is empty, so that an import with `--replace` also removes what was added since.
 *
 * Catalogs with equal records give equal bytes: lines are in the bytewise order of keys, fields in that of their
 * declaration. So there is no `updated_at`, which an import ignores unless its kind has no records yet.
 *
 * @returns the timestamp of the last release, the numbers of records, and notes on those that an import would refuse.
 * @throws OperatorError as `createFolder`.
 */
export async function exportCatalog(database: Database, target: string, onProgress: OnProgress) {
  return createFolder(target, (folder) =>
    inSnapshot(database, async (snapshot) => {
      const published = await readPublishedAt(snapshot);
      let total = 0;
      for (const kind of KINDS) total += await countRows(snapshot, `catalog.${TABLE_OF[kind]}`);
      const kinds: Partial<Record<Kind, number>> = {};
      const notes: string[] = [];
      let done = 0;
      for (const kind of KINDS) {
        await using file = await open(join(folder, `${kind}.ndjson`), 'wx', 0o600);
        const doneBefore = done;
        for await (const records of readRecords(snapshot, kind)) {
          const lines = records.map((record) => {
            const line = JSON.stringify(record, omitEmpty);
            const reason = describeTooLong(kind, Buffer.byteLength(line));
            const key = 'abbreviation' in record ? record.abbreviation : record.id;
            if (reason !== null) notes.push(`warning: an import would refuse ${key} of ${kind}: its line ${reason}`);
            return line;
          });
          await file.appendFile(`${lines.join('\n')}\n`);
          // SQLite's statements resolve in microtasks, during which no signal is handled.
          await setImmediate();
          onProgress({ done: (done += records.length), total, what: kind });
        }
        await file.sync();
        kinds[kind] = done - doneBefore;
      }
      return { publishedAt: published === EPOCH ? null : published, kinds, notes };
    }),
  );
}

/** Leaves out what an import fills in: with it, a line could be longer than an import accepts. */
function omitEmpty(_: string, value: unknown): unknown {
  return value === null || (Array.isArray(value) && value.length === 0) ? undefined : value;
}

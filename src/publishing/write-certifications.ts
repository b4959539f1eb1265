import { sql } from 'kysely';
import { isOneOf } from '../database/engine-sql.ts';
import { renderCertification } from '../resources/certifications/render.ts';
import { deleteRows, writeRows } from './rows.ts';
import type { RecordWriter, ImportContext } from './import-context.ts';

/** Writes certifications, whose key is the abbreviation. */
export async function certificationWriter(context: ImportContext): Promise<RecordWriter<'certifications'>> {
  const { database } = context;
  const known = context.references.certifications;
  const stored = await database.kysely
    .selectFrom('catalog.certifications')
    .select(['abbreviation', 'number', 'document'])
    .execute();
  const before = new Map(stored.map((row) => [row.abbreviation, row]));
  let lastNumber = stored.reduce((last, { number }) => Math.max(last, number), 0);
  const lines = new Map<string, number>();
  return {
    markAsPresent: (key) => known.set(key, 'sbe'),
    async check(entries) {
      for (const { key, line } of entries) lines.set(key, line);
    },
    async write(entries) {
      const counts = { added: 0, changed: 0, unchanged: 0 };
      const rows = [];
      for (const { record } of entries) {
        const document = renderCertification(record);
        const old = before.get(record.abbreviation);
        if (old?.document === document) {
          counts.unchanged += 1;
          continue;
        }
        counts[old === undefined ? 'added' : 'changed'] += 1;
        // Suppliers show only abbreviations, but sort them by type.
        if (old !== undefined && known.get(record.abbreviation) !== record.type) {
          context.changed.certifications.add(record.abbreviation);
        }
        known.set(record.abbreviation, record.type);
        rows.push({
          row: { ...record, number: old?.number ?? (lastNumber += 1), document },
          isNew: old === undefined,
        });
      }
      await writeRows(database, 'catalog.certifications', 'abbreviation', rows);
      context.formerSearch?.noteWritten(
        'certifications',
        rows.map(({ row }) => row.number),
      );
      return counts;
    },
    async listKeys() {
      return [...known.keys()];
    },
    async findReferrers(keys) {
      const { rows } = await sql<{ key: string; referrer: string }>`
        select abbreviation as key, min(supplier_id) as referrer from catalog.supplier_certifications
        where ${isOneOf(database.engine, sql.ref('abbreviation'), keys)} group by 1`.execute(database.kysely);
      return new Map(rows.map(({ key, referrer }) => [key, `supplier ${referrer}`]));
    },
    async remove(keys) {
      await context.formerSearch?.remove(
        'certifications',
        keys.flatMap((key) => before.get(key)?.number ?? []),
      );
      await deleteRows(database, 'catalog.certifications', 'abbreviation', keys);
      for (const key of keys) known.delete(key);
    },
    /** The supplier filter accepts names and abbreviations, so a name must identify one certification. */
    async finish(file) {
      const all = await database.kysely
        .selectFrom('catalog.certifications')
        .select(['abbreviation', 'name'])
        .orderBy('abbreviation')
        .execute();
      const holders = new Map<string, string>();
      for (const { abbreviation, name } of all) {
        const folded = name.toLowerCase();
        const other = holders.get(folded);
        holders.set(folded, abbreviation);
        if (other === undefined) continue;
        const line = lines.get(abbreviation) ?? lines.get(other) ?? null;
        const reason = `${JSON.stringify(name)} is the name of both ${other} and ${abbreviation} (case aside)`;
        context.problems.add({ file, line, field: 'name', reason });
      }
    },
  };
}

import { sql } from 'kysely';
import { isOneOf } from '../database/engine-sql.ts';
import { danglingReferences } from './references.ts';
import { insertLeadEntity } from './line-preparer.ts';
import { listIds, removeRecords, rowOf } from './record-table.ts';
import { inBatches, writeRows } from './rows.ts';
import { WrittenRefs } from './written-refs.ts';
import { importedUpdatedAt, plannedRow, type RecordWriter, type ImportContext } from './import-context.ts';

const REFS_AT_ONCE = 5_000;

/** Writes solicitations. Drafts are stored but never served. */
export async function solicitationWriter(context: ImportContext): Promise<RecordWriter<'solicitations'>> {
  const { database, references, publication } = context;
  const { engine, kysely } = database;
  const index = context.index.solicitations;
  const writtenRefs = new WrittenRefs();

  const loadStored = (keys: readonly string[]) =>
    kysely
      .selectFrom('catalog.solicitations')
      .select(['id', 'number', 'position', 'hash', 'own_hash'])
      .select(['changed_publication', 'updated_publication', 'updated_at'])
      .where((eb) => isOneOf(engine, eb.ref('id'), keys))
      .execute();

  return {
    async check(entries, file) {
      for (const entry of entries) {
        const leadEntities = references.named['lead-entities'];
        const { lead_entity_id } = entry.record;
        for (const problem of danglingReferences(entry, 'lead_entity_id', [lead_entity_id], 'lead entity', (id) =>
          leadEntities.has(id),
        )) {
          context.problems.add({ file, ...problem });
        }
        writtenRefs.add(entry.record.ref, entry.line);
      }
    },
    checkWhole(file) {
      for (const { ref, line, first } of writtenRefs.repeated()) {
        context.problems.add({ file, line, field: 'ref', reason: `${ref} stands on line ${first} already` });
      }
    },
    async write(entries) {
      const counts = { added: 0, changed: 0, unchanged: 0 };
      const keys = context.emptyKinds.has('solicitations') ? [] : entries.map(({ key }) => key);
      const stored = new Map((await loadStored(keys)).map((row) => [row.id, row]));
      const changed = [];
      for (const { key, row: planned, lineHash, hash, record, updatedAt } of entries) {
        const before = stored.get(key);
        if (before?.hash === hash) {
          counts.unchanged += 1;
          continue;
        }
        counts[before === undefined ? 'added' : 'changed'] += 1;
        // Notices, documents and questions neither change `updated_at` nor make a record appear in a sync.
        const keepsOwn = before?.own_hash === record.own_hash ? before : null;
        // A renamed lead entity makes it appear in a sync, without changing `updated_at`.
        const isRenamed = context.changed['lead-entities'].has(record.lead_entity_id);
        const brought = before === undefined ? importedUpdatedAt(context, 'solicitations', updatedAt) : null;
        changed.push({
          isNew: before === undefined,
          row: {
            ...(before === undefined ? plannedRow({ key, row: planned }) : rowOf(before)),
            id: key,
            hash,
            own_hash: record.own_hash,
            line_hash: lineHash,
            changed_publication: isRenamed ? publication : (keepsOwn?.changed_publication ?? publication),
            updated_publication: keepsOwn?.updated_publication ?? publication,
            updated_at: keepsOwn === null ? brought : keepsOwn.updated_at,
            ref: record.ref,
            lead_entity_id: record.lead_entity_id,
            status: record.status,
            close_at: record.close_at,
            document: insertLeadEntity(record, references.named['lead-entities'].get(record.lead_entity_id) ?? 'null'),
            detail: record.detail,
          },
        });
      }
      const rows = changed.map(({ row }) => row);
      const former = await index.loadBefore(rows.filter(({ id }) => stored.has(id)));
      await writeRows(database, 'catalog.solicitations', 'id', changed);
      for (const row of rows) index.replace(row.position, former.get(row.id) ?? null, row);
      await index.writeIfLarge();
      context.formerSearch?.noteWritten(
        'solicitations',
        rows.map(({ number }) => number),
      );
      return counts;
    },
    listKeys: () => listIds(database, 'solicitations'),
    remove: (keys) => removeRecords(context, 'solicitations', keys),
    /** Reports refs that a stored record outside the import already has. Served by the index on ref. */
    async finish(file, lines) {
      if (context.emptyKinds.has('solicitations')) return;
      for (const refs of inBatches(writtenRefs.all(), REFS_AT_ONCE)) {
        const { rows } = await sql<{ ref: number; first: string; second: string }>`
          select ref, min(id) as first, max(id) as second from catalog.solicitations
          where ${isOneOf(engine, sql.ref('ref'), refs)} group by ref having count(*) > 1`.execute(kysely);
        for (const { ref, first, second } of rows) {
          const line = lines.get(second) ?? lines.get(first) ?? null;
          context.problems.add({ file, line, field: 'ref', reason: `${ref} is the ref of ${first} and ${second}` });
        }
      }
    },
  };
}

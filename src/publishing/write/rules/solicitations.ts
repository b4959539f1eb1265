import { sql } from 'kysely';
import { isOneOf } from '../../../database/engine-sql.ts';
import { inBatches } from '../../../database/rows.ts';
import type { SolicitationRow } from '../../../database/tables.ts';
import type { ImportContext } from '../../import-context.ts';
import { insertLeadEntity } from '../../read/record-parser.ts';
import { publishedColumns, renderAtOnce, type KindRules, type Report } from '../record-writer.ts';
import { getFrom } from '../references.ts';

const REFS_AT_ONCE = 5_000;

const COLUMNS = [
  ...(['position', 'hash', 'own_hash', 'changed_publication', 'updated_publication'] as const),
  'updated_at' as const,
];

/** Solicitations. Drafts are stored but never served. */
export function solicitationRules(
  context: ImportContext,
  report: Report,
): KindRules<'solicitations', Pick<SolicitationRow, (typeof COLUMNS)[number]>> {
  const { database, release, referenceData, renamed } = context;
  // Plain lists: a map of millions would take several times the memory.
  const refs: number[] = [];
  const lines: number[] = [];
  return {
    columns: COLUMNS,
    check({ record, line }) {
      refs.push(record.ref);
      lines.push(line);
    },
    checkWhole() {
      const sorted = Float64Array.from(refs).sort();
      const repeated = new Set(sorted.filter((ref, index) => ref === sorted[index - 1]));
      const firstLines = new Map<number, number>();
      for (const [index, line] of repeated.size === 0 ? [] : lines.entries()) {
        const ref = refs[index] ?? 0;
        const first = firstLines.get(ref);
        if (first !== undefined) report(line, 'ref', `${ref} is already on line ${first}`);
        else if (repeated.has(ref)) firstLines.set(ref, line);
      }
    },
    isUnchanged: (before, { hash }) => before.hash === hash,
    render: (changes) =>
      renderAtOnce(changes, (change) => {
        const { own_hash, ref, lead_entity_id, status, close_at, detail } = change.entry.record;
        // Notices, documents and questions neither change `updated_at` nor make a record appear in a sync.
        const keptFrom = change.before?.own_hash === own_hash ? change.before : null;
        const row = {
          ...publishedColumns(context, 'solicitations', change),
          updated_publication: release,
          own_hash,
          ref,
          lead_entity_id,
          status,
          close_at,
          detail,
          document: insertLeadEntity(
            change.entry.record,
            getFrom(referenceData.named['lead-entities'], lead_entity_id),
          ),
        };
        if (keptFrom === null) return row;
        const { updated_at, updated_publication, changed_publication } = keptFrom;
        // A renamed lead entity makes it appear in a sync, without changing `updated_at`.
        const isRenamed = renamed['lead-entities'].has(lead_entity_id);
        return {
          ...row,
          updated_at,
          updated_publication,
          changed_publication: isRenamed ? release : changed_publication,
        };
      }),
    /** Reports refs that a stored record outside the import already has. Served by the index on ref. */
    async checkStored(linesOf) {
      if (context.emptyKinds.has('solicitations')) return;
      for (const some of inBatches(refs, REFS_AT_ONCE)) {
        const { rows } = await sql<{ ref: number; first: string; second: string }>`
          select ref, min(id) as first, max(id) as second from catalog.solicitations
          where ${isOneOf(database.engine, sql.ref('ref'), some)} group by ref having count(*) > 1`.execute(
          database.kysely,
        );
        for (const { ref, first, second } of rows) {
          const line = linesOf.get(second) ?? linesOf.get(first) ?? null;
          report(line, 'ref', `${ref} is the ref of ${first} and ${second}`);
        }
      }
    },
  };
}

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
  ...(['number', 'position', 'hash', 'own_hash', 'changed_publication', 'updated_publication'] as const),
  'updated_at' as const,
];

/** Solicitations. Drafts are stored but never served. */
export function solicitationRules(
  context: ImportContext,
  report: Report,
): KindRules<'solicitations', Pick<SolicitationRow, (typeof COLUMNS)[number]>> {
  const { database, publication, referenceData, renamed } = context;
  const refs = new ImportedRefs();
  return {
    columns: COLUMNS,
    check: ({ record, line }) => refs.add(record.ref, line),
    checkWhole() {
      for (const { ref, line, first } of refs.repeated()) report(line, 'ref', `${ref} is already on line ${first}`);
    },
    isUnchanged: (before, { hash }) => before.hash === hash,
    render: (changes) =>
      renderAtOnce(changes, (change) => {
        const { own_hash, ref, lead_entity_id, status, close_at, detail } = change.entry.record;
        // Notices, documents and questions neither change `updated_at` nor make a record appear in a sync.
        const keptFrom = change.before?.own_hash === own_hash ? change.before : null;
        const row = {
          ...publishedColumns(context, 'solicitations', change),
          updated_publication: publication,
          ...{ own_hash, ref, lead_entity_id, status, close_at, detail },
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
          ...{ ...row, updated_at, updated_publication },
          changed_publication: isRenamed ? publication : changed_publication,
        };
      }),
    /** Reports refs that a stored record outside the import already has. Served by the index on ref. */
    async checkStored(lines) {
      if (context.emptyKinds.has('solicitations')) return;
      for (const some of inBatches(refs.all(), REFS_AT_ONCE)) {
        const { rows } = await sql<{ ref: number; first: string; second: string }>`
          select ref, min(id) as first, max(id) as second from catalog.solicitations
          where ${isOneOf(database.engine, sql.ref('ref'), some)} group by ref having count(*) > 1`.execute(
          database.kysely,
        );
        for (const { ref, first, second } of rows) {
          const line = lines.get(second) ?? lines.get(first) ?? null;
          report(line, 'ref', `${ref} is the ref of ${first} and ${second}`);
        }
      }
    },
  };
}

/** The refs of an import and their lines: up to millions, at 12 bytes each. */
class ImportedRefs {
  #refs = new Float64Array(1024);
  #lines = new Uint32Array(1024);
  #size = 0;

  add(ref: number, line: number): void {
    if (this.#size === this.#refs.length) {
      const [refs, lines] = [this.#refs, this.#lines];
      this.#refs = new Float64Array(2 * this.#size);
      this.#lines = new Uint32Array(2 * this.#size);
      this.#refs.set(refs);
      this.#lines.set(lines);
    }
    this.#refs[this.#size] = ref;
    this.#lines[this.#size] = line;
    this.#size += 1;
  }

  /** Each once. */
  all(): number[] {
    return [...new Set(this.#refs.subarray(0, this.#size))];
  }

  /** Every line whose ref is already on an earlier line. */
  repeated(): { ref: number; line: number; first: number }[] {
    const sorted = this.#refs.slice(0, this.#size).sort();
    const firstLines = new Map<number, number | null>();
    sorted.forEach((ref, place) => {
      if (sorted[place - 1] === ref) firstLines.set(ref, null);
    });
    const repeated: { ref: number; line: number; first: number }[] = [];
    if (firstLines.size === 0) return repeated;
    for (const [place, ref] of this.#refs.subarray(0, this.#size).entries()) {
      const first = firstLines.get(ref);
      const [line] = this.#lines.subarray(place, place + 1);
      if (first === undefined || line === undefined) continue;
      if (first === null) firstLines.set(ref, line);
      else repeated.push({ ref, line, first });
    }
    return repeated;
  }
}

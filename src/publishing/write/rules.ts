import { sql } from 'kysely';
import { isOneOf } from '../../database/statement.ts';
import { inBatches } from '../../database/rows.ts';
import type { Kind } from '../../kinds.ts';
import { stateOfLocation } from '../../us-states.ts';
import type { ImportContext } from '../import-context.ts';
import type { KeyLines } from '../positions/position-plan.ts';
import { contractBytes, MAX_CONTRACT_BYTES } from './render-row.ts';
import type { Entry } from './stored-records.ts';

const REFS_AT_ONCE = 5_000;

/** Adds a problem of a line's field; `line` is null if the line is unknown. */
export type Report = (line: number | null, field: string, reason: string) => void;

/** The rules for the records of one kind, beyond those for single fields. Their references are in `REFERENCES`. */
export interface KindRules<K extends Kind> {
  /** Reports further problems of a record. `supplierBytes` has the sizes of the suppliers that it names. */
  check?(entry: Entry<K>, supplierBytes: ReadonlyMap<string, number>): void;
  /** Reports problems between lines, after the last one. */
  checkWhole?(): void;
  /** Reports problems between stored records, once everything is written. */
  checkStored?(lines: KeyLines): Promise<void>;
}

export const RULES: Readonly<Partial<Record<Kind, (context: ImportContext, report: Report) => KindRules<Kind>>>> = {
  certifications: certificationRules,
  suppliers: supplierRules,
  contracts: contractRules,
  solicitations: solicitationRules,
};

/** The supplier filter accepts names and abbreviations, so a name must identify one certification. */
function certificationRules({ database: { kysely } }: ImportContext, report: Report): KindRules<'certifications'> {
  return {
    async checkStored(lines) {
      const { rows } = await sql<{ abbreviation: string; name: string }>`select abbreviation, name
        from catalog.certifications order by abbreviation`.execute(kysely);
      const holders = new Map<string, string>();
      for (const { abbreviation, name } of rows) {
        const folded = name.toLowerCase();
        const other = holders.get(folded);
        holders.set(folded, abbreviation);
        if (other === undefined) continue;
        const line = lines.get(abbreviation) ?? lines.get(other) ?? null;
        const reason = `${JSON.stringify(name)} is the name of both ${other} and ${abbreviation} (ignoring case)`;
        report(line, 'name', reason);
      }
    },
  };
}

function supplierRules(context: ImportContext): KindRules<'suppliers'> {
  return {
    check({ record: { location } }) {
      if (location !== null && stateOfLocation(location) === null) context.locationsWithoutState += 1;
    },
  };
}

function contractRules({ referenceData }: ImportContext, report: Report): KindRules<'contracts'> {
  return {
    check({ record, line }, supplierBytes) {
      const bytes = contractBytes(record, referenceData, supplierBytes);
      if (bytes <= MAX_CONTRACT_BYTES) return;
      const reason = `is ${bytes} bytes long with the suppliers and city services that it names; the maximum for a contract is ${MAX_CONTRACT_BYTES}`;
      report(line, '', reason);
    },
  };
}

/** No two solicitations can have the same `ref`. */
function solicitationRules({ database, emptyKinds }: ImportContext, report: Report): KindRules<'solicitations'> {
  // Plain lists: a map of millions would take several times the memory.
  const refs: number[] = [];
  const lines: number[] = [];
  return {
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
    /** Reports refs that a stored record outside the import already has. Served by the index on ref. */
    async checkStored(linesOf) {
      if (emptyKinds.has('solicitations')) return;
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

import { renderSolicitation, renderSolicitationDetail } from '../resources/solicitations/render.ts';
import type { SolicitationRecord } from '../resources/solicitations/record.ts';
import { decodeLine } from './lines.ts';
import { lineParser, type FieldProblem } from './record-parser.ts';
import type { RecordKind, RecordOf } from './records.ts';
import { contentHash } from './rows.ts';

/** Placeholder for the lead entity in a rendered solicitation. JSON text cannot contain it. */
const LEAD_ENTITY_MARK = '\0';

/** The columns of a solicitation that can be computed without the database. */
export interface PreparedSolicitation {
  ref: number;
  lead_entity_id: string;
  status: SolicitationRecord['status'];
  close_at: string | null;
  own_hash: string;
  /** The list item; `insertLeadEntity` completes it. */
  document: string;
  detail: string;
}

/** The input of the writers: the record itself, except for solicitations, which are large and numerous. */
export type PreparedRecord = Omit<RecordOf, 'solicitations'> & { solicitations: PreparedSolicitation };

/** One prepared line of an import file. A bad line has a `key` if it could be read. */
export type PreparedLine<K extends RecordKind> =
  | {
      type: 'record';
      key: string;
      record: PreparedRecord[K];
      updatedAt: string | null;
      /** Hash of the record: equal hashes mean equal records. */
      hash: string;
    }
  | { type: 'removal'; key: string }
  | { type: 'bad'; key: string | null; problems: FieldProblem[] };

/** Creates the function that prepares lines of one kind. It uses no database, so it can run in a worker thread. */
export function linePreparer<K extends RecordKind>(kind: K): (line: Uint8Array) => PreparedLine<K> {
  const parse = lineParser(kind);
  return (line) => {
    const text = decodeLine(line);
    if (text === null) return { type: 'bad', key: null, problems: [{ field: '', reason: 'is not UTF-8' }] };
    const parsed = parse(text);
    if (parsed.type !== 'record') return parsed;
    const { key, updatedAt } = parsed;
    return { type: 'record', key, updatedAt, ...prepare(kind, parsed.record) };
  };
}

/** The list item with its lead entity's rendered NamedRef inserted. */
export function insertLeadEntity({ document }: PreparedSolicitation, leadEntity: string): string {
  return document.replace(LEAD_ENTITY_MARK, () => leadEntity);
}

function prepare<K extends RecordKind>(kind: K, record: RecordOf[K]): { record: PreparedRecord[K]; hash: string };
function prepare(kind: RecordKind, record: RecordOf[RecordKind]): object {
  switch (kind) {
    case 'suppliers':
    case 'contracts':
      return { record, hash: contentHash(JSON.stringify(record)) };
    case 'solicitations':
      return prepareSolicitation(record as SolicitationRecord);
    default:
      return { record, hash: '' };
  }
}

function prepareSolicitation(record: SolicitationRecord): { record: PreparedSolicitation; hash: string } {
  const { documents, notices, questions, ...own } = record;
  const ownText = JSON.stringify(own);
  const { ref, lead_entity_id, status, close_at } = record;
  return {
    hash: contentHash(ownText + JSON.stringify([documents, notices, questions])),
    record: {
      ref,
      lead_entity_id,
      status,
      close_at,
      own_hash: contentHash(ownText),
      document: renderSolicitation(record, LEAD_ENTITY_MARK),
      detail: renderSolicitationDetail(record),
    },
  };
}

import { renderSolicitation, renderSolicitationDetail } from '../resources/solicitations/render.ts';
import type { SolicitationRecord } from '../resources/solicitations/record.ts';
import { decodeLine } from './lines.ts';
import { lineParser, type FieldProblem } from './record-parser.ts';
import type { RecordKind, RecordOf } from './records.ts';
import { contentHash } from './rows.ts';

/** Stands in a rendered solicitation where its lead entity belongs. No JSON text holds it. */
const LEAD_ENTITY_MARK = '\0';

/** What is stored of a solicitation: everything of it that can be made without the database. */
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

/** What the writers work with: the record itself, but for solicitations, which are large and many. */
export type PreparedRecord = Omit<RecordOf, 'solicitations'> & { solicitations: PreparedSolicitation };

/** One line of an import file, with all that can be made of it alone. `key` of a bad one is known where it could be read. */
export type PreparedLine<K extends RecordKind> =
  | {
      type: 'record';
      key: string;
      record: PreparedRecord[K];
      updatedAt: string | null;
      /** Of the record: equal hashes, equal records. */
      hash: string;
    }
  | { type: 'removal'; key: string }
  | { type: 'bad'; key: string | null; problems: FieldProblem[] };

/** Makes the function that prepares one kind's lines. It touches no database, so that it can run on a thread of its own. */
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

/** The list item with the finished NamedRef of its lead entity. */
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

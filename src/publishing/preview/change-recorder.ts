import type { Database } from '../../database/database.ts';
import type { Kind } from '../../kinds.ts';
import { insertLeadEntity } from '../read/record-parser.ts';
import type { PreparedRecord, PreparedSolicitation } from '../records.ts';
import { compareRecords, type ChangeSink, type RecordChange } from './record-changes.ts';
import { loadStoredRecords, solicitationRecordOf } from './stored-records.ts';

/** An imported record that is new, or differs from the stored one. */
interface WrittenRecord {
  readonly entry: { readonly key: string; readonly record: PreparedRecord[Kind] };
  /** Null for a new record. */
  readonly before: object | null;
}

/** Passes the changes of an import to a sink. Reads old values just before they are overwritten. */
export class ChangeRecorder {
  readonly #database: Database;
  readonly #sink: ChangeSink;

  constructor(database: Database, sink: ChangeSink) {
    this.#database = database;
    this.#sink = sink;
  }

  /** Records what is about to be written. */
  async recordWritten(kind: Kind, written: readonly WrittenRecord[]): Promise<void> {
    const added = written.filter(({ before }) => before === null).slice(0, this.#sink.room(kind, 'added'));
    for (const { entry } of added) {
      const { key, record } = entry;
      const fields = importedRecord(kind, record);
      this.#sink.add({ ...identityOf(kind, key, fields), change: 'added', record: fields });
    }
    const changed = written.filter(({ before }) => before !== null).slice(0, this.#sink.room(kind, 'changed'));
    if (changed.length === 0) return;
    const imported = new Map(changed.map(({ entry: { key, record } }) => [key, record]));
    for await (const [key, before] of loadStoredRecords(this.#database, kind, [...imported.keys()], imported)) {
      const record = imported.get(key);
      if (record === undefined) continue;
      const after = importedRecord(kind, record);
      const fields = compareRecords(before, after);
      this.#sink.add({ ...identityOf(kind, key, after), change: 'changed', fields });
    }
  }

  /** Records what is about to be removed. */
  async recordRemoved(kind: Kind, keys: readonly string[]): Promise<void> {
    const some = keys.slice(0, this.#sink.room(kind, 'removed'));
    for await (const [key, record] of loadStoredRecords(this.#database, kind, some)) {
      this.#sink.add({ ...identityOf(kind, key, record), change: 'removed', record });
    }
  }
}

function importedRecord(kind: Kind, record: PreparedRecord[Kind]): object {
  if (kind === 'solicitations') {
    const solicitation = record as PreparedSolicitation;
    const leadEntity = JSON.stringify({ id: solicitation.lead_entity_id });
    return solicitationRecordOf(insertLeadEntity(solicitation, leadEntity), solicitation.detail);
  }
  return record;
}

function identityOf(kind: Kind, id: string, record: object): Pick<RecordChange, 'kind' | 'id' | 'name'> {
  const { name, title } = record as { name?: string; title?: string };
  return { kind, id, name: name ?? title ?? '' };
}

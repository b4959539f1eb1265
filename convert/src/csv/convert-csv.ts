import { basename, dirname, resolve } from 'node:path';
import type { CheckRecord, Kind } from '../import-format.ts';
import type { JsonObject } from '../json.ts';
import type { ConversionReport } from '../report.ts';
import { ValueError } from '../value-error.ts';
import type { Workspace } from '../workspace.ts';
import { kindsOf, type CsvMap, type FileMap, type RecordMap } from './map-file.ts';
import { mergeRows, recordKey } from './merge-rows.ts';
import { quoted, readRows, type Row } from './read-rows.ts';
import { referencesOf, valueOf } from './values.ts';

/** The values of a record in one row. */
interface RowRecord {
  kind: Kind;
  /** A row of the record itself counts more than a mention. */
  form: 'row' | 'mention';
  /** Null if it was refused. */
  record: JsonObject | null;
  id: string;
}

/**
 * Converts CSV files to records in the workspace. Rows with the same id become one record.
 *
 * @param onRead called with the number of bytes read; also with 0 between records, to notice an interruption.
 * @param mapPath the map's own path, which the files are relative to.
 * @throws InputError if a file has other columns than the map.
 */
export async function convertCsv(
  map: CsvMap,
  mapPath: string,
  workspace: Workspace,
  report: ConversionReport,
  onRead: (bytes: number) => void,
): Promise<void> {
  for (const fileMap of map.files) {
    const file = basename(fileMap.file);
    const path = resolve(dirname(mapPath), fileMap.file);
    for await (const { row, number, problem } of readRows(fileMap, path, report, onRead)) {
      report.read(`rows of ${file}`);
      const place = `row ${number}`;
      const refuse: Refuse = (kinds, field, columns, { message, value }) => {
        const from = columns.length === 0 ? '' : `column ${quoted(columns)}: `;
        report.refuse({ file, place, field, id: null, reason: `${from}${message}`, value, kinds });
      };
      if (problem !== null) refuse(kindsOf({ files: [fileMap] }), '', [], new ValueError(problem));
      const records = convertRow(row, fileMap, workspace.check, problem === null ? refuse : () => undefined);
      for (const { kind, form, record, id } of records) {
        // The row's values are ignored, but without it the record is incomplete.
        if (problem !== null && form === 'mention') continue;
        const json = JSON.stringify(problem === null ? record : null);
        workspace.addPart(recordKey(kind, id), { form, date: '', json, file, place });
      }
    }
  }
  await mergeRows(map, workspace, report, () => onRead(0));
}

/** @param kinds of the record with the field, and of those that refer to it. */
type Refuse = (kinds: readonly Kind[], field: string, columns: readonly string[], error: ValueError) => void;

/**
 * The record of a row, and those that its fields create. If only the row's own record is refused, these are not: their
 * other rows alone could say less of them than the table.
 */
function convertRow(row: Row, map: FileMap, check: CheckRecord, refuse: Refuse): RowRecord[] {
  const mentions: RowRecord[] = [];
  /** Returns whether nothing was refused. */
  const fill = (
    record: JsonObject,
    { kind, fields }: RecordMap,
    referrers: readonly Kind[],
    path: string,
    idColumns: readonly string[],
  ): boolean => {
    let isWhole = true;
    const kinds = [...referrers, kind];
    const refuseField = (field: string, columns: readonly string[], error: ValueError): void => {
      isWhole = false;
      refuse(kinds, `${path}${field}`, columns, error);
    };
    for (const [field, fieldMap] of fields) {
      const { creates, columns } = fieldMap;
      try {
        record[field] = valueOf(row, fieldMap);
        if (creates === null) continue;
        for (const mentioned of referencesOf(row, fieldMap)) {
          const isAccepted = fill(mentioned, creates, kinds, `${path}${field}.`, columns);
          mentions.push({
            kind: creates.kind,
            form: 'mention',
            record: isAccepted ? mentioned : null,
            id: mentioned.id,
          });
          isWhole &&= isAccepted;
        }
      } catch (error) {
        if (!(error instanceof ValueError)) throw error;
        refuseField(field, columns, error);
      }
    }
    if (!isWhole) return false;
    for (const { field, reason } of check(kind, record)) {
      // A problem in a list names its entry, such as `nigp_codes[0].code`.
      const { columns = idColumns } = fields.get(field.replace(/[.[].*/, '')) ?? {};
      refuseField(field, columns, new ValueError(reason, '', /; found (.+)$/s.exec(reason)?.[1]));
    }
    return isWhole;
  };
  const record: JsonObject = {};
  const isWhole = fill(record, map, [], '', []);
  const id = (record['id'] ?? record['abbreviation']) as string | undefined;
  if (id === undefined) return mentions;
  // Its other rows alone would make a record with less than the table has.
  return [{ kind: map.kind, form: 'row', record: isWhole ? record : null, id }, ...mentions];
}

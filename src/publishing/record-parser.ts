import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { parseInstant } from '../instant.ts';
import { completeRecord } from './record-completion.ts';
import { RECORD_SCHEMAS, removalSchema } from './record-schemas.ts';
import { keyField, type RecordKind, type RecordOf } from './records.ts';

/** What is wrong with a field of a line; `field` is empty where it is the line as a whole. */
export interface FieldProblem {
  field: string;
  reason: string;
}

/** One line of an import file, understood. `key` is known for a bad record too, where it could be read. */
export type ParsedLine<K extends RecordKind> =
  | { type: 'record'; key: string; record: RecordOf[K]; updatedAt: string | null }
  | { type: 'removal'; key: string }
  | { type: 'bad'; key: string | null; problems: FieldProblem[] };

export type LineParser<K extends RecordKind> = (line: string) => ParsedLine<K>;

/** Escapes that JSON allows and that are no text: NUL, which PostgreSQL cannot hold, and halves of surrogate pairs. */
const SUSPECT_ESCAPE = /\\u(0000|[dD][89a-fA-F])/;

/** Makes the parser for one kind's lines; its schema is compiled once. */
export function lineParser<K extends RecordKind>(kind: K): LineParser<K> {
  const ajv = new Ajv({ allErrors: true, verbose: true, allowUnionTypes: true, strict: true });
  ajv.addFormat('instant', (value: string) => parseInstant(value) !== null);
  const isRecord = ajv.compile(RECORD_SCHEMAS[kind]);
  const key = keyField(kind);
  const isRemoval = ajv.compile(removalSchema(key));
  return (line) => {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch (error) {
      return { type: 'bad', key: null, problems: [{ field: '', reason: `is not JSON: ${(error as Error).message}` }] };
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return { type: 'bad', key: null, problems: [{ field: '', reason: 'must be a JSON object' }] };
    }
    const fields = value as Record<string, unknown>;
    const name = typeof fields[key] === 'string' ? fields[key] : null;
    const removes = Object.hasOwn(fields, 'deleted');
    const problems = [
      ...schemaProblems(removes ? isRemoval : isRecord, fields),
      ...(SUSPECT_ESCAPE.test(line) ? unstorableText(fields, '') : []),
    ];
    if (problems.length > 0 || name === null) return { type: 'bad', key: name, problems };
    if (removes) return { type: 'removal', key: name };
    const completed = completeRecord(kind, fields);
    if (completed.problems.length > 0) return { type: 'bad', key: name, problems: completed.problems };
    return { type: 'record', key: name, record: completed.record as RecordOf[K], updatedAt: completed.updatedAt };
  };
}

function schemaProblems(validate: ValidateFunction, value: unknown): FieldProblem[] {
  if (validate(value)) return [];
  // A wrong value may break several rules that say the same.
  const problems = new Map((validate.errors ?? []).map(problemOf).map((problem) => [JSON.stringify(problem), problem]));
  return [...problems.values()];
}

function problemOf(error: ErrorObject): FieldProblem {
  const path = error.instancePath
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((field, step) => join(field, step), '');
  const params = error.params as Record<string, unknown>;
  const description = (error.parentSchema as { description?: string } | undefined)?.description;
  switch (error.keyword) {
    case 'required':
      return { field: join(path, String(params['missingProperty'])), reason: 'is missing' };
    case 'additionalProperties':
      return { field: join(path, String(params['additionalProperty'])), reason: 'is not a field of this record' };
    case 'uniqueItems': {
      const items = error.data as unknown[];
      return { field: path, reason: `holds ${JSON.stringify(items[Number(params['i'])])} twice` };
    }
    default:
      return { field: path, reason: description ?? error.message ?? 'is wrong' };
  }
}

function join(path: string, step: string): string {
  if (/^\d+$/.test(step)) return `${path}[${step}]`;
  return path === '' ? step : `${path}.${step}`;
}

function unstorableText(value: unknown, path: string): FieldProblem[] {
  if (typeof value === 'string') {
    if (value.includes('\0')) return [{ field: path, reason: 'holds a NUL character' }];
    return value.isWellFormed() ? [] : [{ field: path, reason: 'holds half of a surrogate pair' }];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([step, inner]) => unstorableText(inner, join(path, step)));
}

import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { parseTimestamp } from '../timestamp.ts';
import { quoteValue } from './problems.ts';
import { completeRecord } from './record-completion.ts';
import { RECORD_SCHEMAS, removalSchema } from './record-schemas.ts';
import { keyField, type RecordKind, type RecordOf } from './records.ts';

/** A problem with a field of a line; `field` is empty if it concerns the whole line. */
export interface FieldProblem {
  field: string;
  reason: string;
  /** The wrong value, formatted by `quoteValue`. */
  found?: string;
}

/** One parsed line of an import file. A bad line has a `key` if it could be read. */
export type ParsedLine<K extends RecordKind> =
  | { type: 'record'; key: string; record: RecordOf[K]; updatedAt: string | null }
  | { type: 'removal'; key: string }
  | { type: 'bad'; key: string | null; problems: FieldProblem[] };

export type LineParser<K extends RecordKind> = (line: string) => ParsedLine<K>;

/** Escapes that JSON allows but text does not: NUL, which PostgreSQL cannot store, and lone surrogates. */
const SUSPECT_ESCAPE = /\\u(0000|[dD][89a-fA-F])/;

/**
 * Lines longer than this, in characters, report only their first problem. A line of a few megabytes can have millions,
 * which would fill the memory.
 */
const MAX_FULLY_REPORTED_LENGTH = 256 * 1024;

/** Creates the parser for one kind's lines; its schemas are compiled once. */
export function lineParser<K extends RecordKind>(kind: K): LineParser<K> {
  const key = keyField(kind);
  const quick = validatorsOf(kind, false);
  /** Compiled on first use: most files have no problem. */
  let thorough: Validators | undefined;
  const schemaProblems = (form: keyof Validators, fields: object, isLong: boolean): FieldProblem[] => {
    if (quick[form](fields)) return [];
    if (isLong) return problemsOf(quick[form].errors ?? []);
    thorough ??= validatorsOf(kind, true);
    thorough[form](fields);
    return problemsOf(thorough[form].errors ?? []);
  };
  return (line) => {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch (error) {
      return {
        type: 'bad',
        key: null,
        problems: [{ field: '', reason: `is not JSON: ${withoutPosition((error as Error).message)}` }],
      };
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return {
        type: 'bad',
        key: null,
        problems: [{ field: '', reason: 'must be a JSON object', found: quoteValue(value) }],
      };
    }
    const fields = value as Record<string, unknown>;
    const name = typeof fields[key] === 'string' ? fields[key] : null;
    const removes = Object.hasOwn(fields, 'deleted');
    const isLong = line.length > MAX_FULLY_REPORTED_LENGTH;
    const problems = schemaProblems(removes ? 'isRemoval' : 'isRecord', fields, isLong);
    // Only for valid records: fields outside the schema can be nested to any depth.
    if (problems.length === 0 && SUSPECT_ESCAPE.test(line)) problems.push(...unstorableText(fields, ''));
    if (problems.length > 0 || name === null) return { type: 'bad', key: name, problems };
    if (removes) return { type: 'removal', key: name };
    const completed = completeRecord(kind, fields);
    if (completed.problems.length > 0) return { type: 'bad', key: name, problems: completed.problems };
    return { type: 'record', key: name, record: completed.record as RecordOf[K], updatedAt: completed.updatedAt };
  };
}

/** Validators for the two forms of a line. */
interface Validators {
  readonly isRecord: ValidateFunction;
  readonly isRemoval: ValidateFunction;
}

/** @param allErrors whether to continue after the first problem. */
function validatorsOf(kind: RecordKind, allErrors: boolean): Validators {
  // The schemas are our own: validating them takes longer than compiling them.
  const ownSchemas = { meta: false, validateSchema: false };
  const ajv = new Ajv({ ...ownSchemas, allErrors, verbose: true, allowUnionTypes: true, strict: true });
  ajv.addFormat('instant', (value: string) => parseTimestamp(value) !== null);
  // Ajv's version tracks seen values in a plain object, in which "__proto__" is lost.
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    validate: (_: unknown, items: unknown[]) => new Set(items).size === items.length,
  });
  return { isRecord: ajv.compile(RECORD_SCHEMAS[kind]), isRemoval: ajv.compile(removalSchema(keyField(kind))) };
}

function problemsOf(errors: readonly ErrorObject[]): FieldProblem[] {
  // One wrong value can break several rules with the same description.
  return [...new Map(errors.map(problemOf).map((problem) => [JSON.stringify(problem), problem])).values()];
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
      const seen = new Set<unknown>();
      const repeated = (error.data as unknown[]).find((item) => seen.size === seen.add(item).size);
      return { field: path, reason: `holds ${JSON.stringify(repeated)} twice` };
    }
    default:
      return { field: path, reason: description ?? error.message ?? 'is wrong', found: quoteValue(error.data) };
  }
}

/**
 * Replaces the position in V8's message by a column. Its line number is always 1, which would contradict the file's.
 */
function withoutPosition(message: string): string {
  return message.replace(
    /(?: in JSON)? at position (\d+)(?: \(line \d+ column \d+\))?$/,
    (_, position: string) => ` at column ${Number(position) + 1}`,
  );
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

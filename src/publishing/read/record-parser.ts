import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { parseTimestamp } from '../../timestamp.ts';
import { quoteValue, type Problem } from '../problems.ts';
import { keyField, type Kind } from '../../kinds.ts';
import type { SolicitationRecord } from '../../resources/solicitations/fields.ts';
import { decodeLine } from './lines.ts';
import { completerOf, RECORD_SCHEMAS, removalSchema, type RecordOf } from './record-schemas.ts';

type FieldProblem = Pick<Problem, 'field' | 'reason' | 'found'>;

/** One parsed line of an import file. A bad line has a `key` if it could be read. */
export type ParsedLine =
  | {
      type: 'record';
      key: string;
      record: RecordOf[Kind];
      updatedAt: string | null;
    }
  | { type: 'removal'; key: string }
  | { type: 'bad'; key: string | null; problems: FieldProblem[] };

/** Escapes that JSON allows but text does not: NUL, which PostgreSQL cannot store, and lone surrogates. */
const SUSPECT_ESCAPE = /\\u(0000|[dD][89a-fA-F])/;

/** Longer lines (in characters) report only one problem: a few megabytes can have millions, which would fill memory. */
const MAX_FULLY_REPORTED_LENGTH = 256 * 1024;

/** Creates the parser of one kind's lines, which checks and completes a record. */
export function lineParser(kind: Kind): (line: Uint8Array) => ParsedLine {
  const key = keyField(kind);
  const recordProblems = validatorOf(RECORD_SCHEMAS[kind]);
  const removalProblems = validatorOf(removalSchema(key));
  const complete = completerOf(RECORD_SCHEMAS[kind]);
  const bad = (problems: FieldProblem[], name: string | null = null) => ({ type: 'bad' as const, key: name, problems });
  return (line) => {
    const text = decodeLine(line);
    if (text === null) return bad([{ field: '', reason: 'is not UTF-8' }]);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      // V8 names a line, always 1, which would contradict the file's.
      const position = / (in JSON )?at position \d+ \(line 1 (column \d+)\)$/;
      return bad([{ field: '', reason: `is not JSON: ${(error as Error).message.replace(position, ' at $2')}` }]);
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return bad([{ field: '', reason: 'must be a JSON object', found: quoteValue(value) }]);
    const fields = value as Record<string, unknown>;
    const name = typeof fields[key] === 'string' ? fields[key] : null;
    const isRemoval = Object.hasOwn(fields, 'deleted');
    const isLong = text.length > MAX_FULLY_REPORTED_LENGTH;
    const problems = (isRemoval ? removalProblems : recordProblems)(fields, isLong);
    // Only for valid records: fields outside the schema can be nested to any depth.
    if (problems.length === 0 && SUSPECT_ESCAPE.test(text)) problems.push(...unstorableText(fields, ''));
    if (problems.length > 0 || name === null) return bad(problems, name);
    if (isRemoval) return { type: 'removal', key: name };
    const record = complete(fields) as RecordOf[Kind];
    if (kind === 'solicitations') problems.push(...idProblems(record as SolicitationRecord));
    if (problems.length > 0) return bad(problems, name);
    const { updated_at: updatedAt } = fields;
    return {
      type: 'record',
      key: name,
      record,
      updatedAt: typeof updatedAt === 'string' ? parseTimestamp(updatedAt) : null,
    };
  };
}

/** Reports ids repeated within one of a solicitation's lists, and templates that are not among its documents. */
function idProblems(record: SolicitationRecord): FieldProblem[] {
  const problems: FieldProblem[] = [];
  for (const list of ['documents', 'requested_items', 'notices', 'questions'] as const) {
    const seen = new Set<number>();
    for (const [index, { id }] of record[list].entries()) {
      if (seen.has(id)) problems.push({ field: `${list}[${index}].id`, reason: `${id} is already in this list` });
      seen.add(id);
    }
  }
  const documents = new Set(record.documents.map(({ id }) => id));
  for (const [index, { template_document_id: template }] of record.requested_items.entries()) {
    if (template === null || documents.has(template)) continue;
    const field = `requested_items[${index}].template_document_id`;
    problems.push({ field, reason: `this solicitation has no document ${template}` });
  }
  return problems;
}

/** Finds the problems of a line by a schema; of a long line only the first. */
function validatorOf(schema: object): (fields: object, isLong: boolean) => FieldProblem[] {
  const quick = compile(schema, false);
  /** Compiled on first use: most files have no problem. */
  let thorough: ValidateFunction | undefined;
  return (fields, isLong) => {
    if (quick(fields)) return [];
    if (isLong) return problemsOf(quick);
    thorough ??= compile(schema, true);
    thorough(fields);
    return problemsOf(thorough);
  };
}

function compile(schema: object, allErrors: boolean): ValidateFunction {
  // The schemas are our own: validating them takes longer than compiling them.
  const ownSchemas = { meta: false, validateSchema: false };
  const ajv = new Ajv({ ...ownSchemas, allErrors, verbose: true, allowUnionTypes: true, strict: true });
  ajv.addFormat('timestamp', (value: string) => parseTimestamp(value) !== null);
  // Ajv's version tracks seen values in a plain object, in which "__proto__" is lost.
  ajv.addVocabulary(['isSorted']);
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    validate: (_: unknown, items: unknown[]) => new Set(items).size === items.length,
  });
  return ajv.compile(schema);
}

function problemsOf({ errors }: ValidateFunction): FieldProblem[] {
  if (errors === undefined || errors === null) throw new Error('the validator reported no error');
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
      return { field: path, reason: `contains ${JSON.stringify(repeated)} twice` };
    }
    default:
      return { field: path, reason: description ?? error.message ?? 'is wrong', found: quoteValue(error.data) };
  }
}

function join(path: string, step: string): string {
  if (/^\d+$/.test(step)) return `${path}[${step}]`;
  return path === '' ? step : `${path}.${step}`;
}

function unstorableText(value: unknown, path: string): FieldProblem[] {
  if (typeof value === 'string') {
    if (value.includes('\0')) return [{ field: path, reason: 'contains a NUL character' }];
    return value.isWellFormed() ? [] : [{ field: path, reason: 'contains half of a surrogate pair' }];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([step, inner]) => unstorableText(inner, join(path, step)));
}

import fc from 'fast-check';
import type { Operation, Parameter } from '../support/openapi-document.ts';
import { BROKEN_ENCODINGS, encodeText, hostileText } from './hostile-text.ts';

/** The certainty about a part of a request: valid, invalid, or either. */
export type Verdict = 'right' | 'wrong' | 'unsure';

/** The query string of a URL, with its question mark if there is one. */
export interface FuzzQuery {
  readonly text: string;
  readonly verdict: Verdict;
}

/** Values of real records, so that filters match something. */
export type KnownValues = Readonly<Record<string, readonly string[]>>;

const style = fc.constantFrom('usual', 'all', 'small' as const);

const encoded = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(text, style).map(([value, how]) => encodeText(value, how as 'usual'));

const storable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

const IDS = ['lead_entity', 'coop', 'supplier', 'city_service'];

/** Whether a text is one id, or several that are accepted. */
function areIds(text: string): boolean {
  const ids = text.split(',');
  return ids.length <= 20 && ids.every((id) => id.trim() !== '' && (ids.length === 1 || id === id.trim()));
}

const KINDS = ['contracts', 'solicitations', 'suppliers'];

/** Encoded values that the parameter's schema allows. */
function rightValue({ name, schema }: Parameter, known: KnownValues): fc.Arbitrary<string> {
  const real = known[name] ?? [];
  const some = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
    real.length === 0 ? encoded(text) : encoded(fc.oneof(fc.constantFrom(...real), text));
  if (schema.enum !== undefined) return encoded(fc.constantFrom(...schema.enum));
  if (schema.type === 'boolean') return fc.constantFrom('true', 'false');
  if (IDS.includes(name)) return some(hostileText.filter((text) => storable(text) && areIds(text)));
  if (schema.type === 'integer') {
    return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 100 }).map(String);
  }
  if (schema.format === 'date-time') {
    const timestamp = fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true });
    return encoded(
      fc
        .tuple(timestamp, fc.constantFrom('Z', 'z', '+00:00', '-05:30', '+14:00'), fc.constantFrom('T', 't'))
        .map(([at, offset, letter]) => at.toISOString().slice(0, -1).replace('T', letter) + offset),
    );
  }
  // A kind twice is refused, which the pattern does not say.
  if (name === 'kinds') return fc.shuffledSubarray(KINDS, { minLength: 1 }).map((kinds) => kinds.join());
  if (schema.pattern !== undefined) return some(fc.stringMatching(new RegExp(schema.pattern)));
  if (name === 'certifications') {
    return some(hostileText.filter((text) => storable(text) && text.split(',').every((part) => part.trim() !== '')));
  }
  const longest = schema.maxLength ?? 2_000;
  const isLongEnough = (text: string): boolean => schema.minLength === undefined || text.trim() !== '';
  const isShortEnough = (text: string): boolean => Array.from(text.normalize('NFC')).length <= longest;
  return some(hostileText.filter((text) => storable(text) && isLongEnough(text) && isShortEnough(text)));
}

/** Values that violate the parameter's schema or the rules for all text, encoded unless the encoding is the fault. */
function wrongValue({ name, schema }: Parameter): fc.Arbitrary<string> {
  const unreadable = fc.constantFrom(...BROKEN_ENCODINGS, 'caf\xe9', 'a%00');
  const others: fc.Arbitrary<string>[] = [];
  const addWrong = (wrong: readonly string[], mayBeRight: RegExp): void => {
    const hostile = hostileText.filter((text) => !mayBeRight.test(text));
    others.push(encoded(fc.oneof(fc.constantFrom(...wrong), hostile)));
  };
  if (schema.enum !== undefined) {
    const known = schema.enum;
    const wrong = ['draft', 'OPEN', 'open,closed', 'open ', ''];
    others.push(encoded(fc.oneof(fc.constantFrom(...wrong), hostileText).filter((text) => !known.includes(text))));
  } else if (schema.type === 'integer') {
    const wrong = [
      '0',
      // Of a stream; the maximum of a page depends on the format.
      '100001',
      '-1',
      '+5',
      '1.0',
      '1e1',
      '0x10',
      ' 5',
      '5 ',
      '05',
      '٥',
      '５',
      '',
      '1,2',
      '1_0',
      'Infinity',
    ];
    addWrong(wrong, /^\d+$/);
  } else if (schema.format === 'date-time') {
    const wrong = ['2026-02-30T00:00:00Z', '2026-01-01', '2026-01-01T00:00:00', '2026-01-01T25:00:00Z', '1', 'now', ''];
    addWrong(wrong, /^\d{4}-/);
  } else if (schema.pattern !== undefined) {
    const pattern = new RegExp(schema.pattern);
    others.push(encoded(hostileText.filter((text) => !pattern.test(text) && storable(text))));
  } else if (schema.maxLength !== undefined) {
    others.push(fc.integer({ min: schema.maxLength + 1, max: 3_000 }).map((length) => 'q'.repeat(length)));
  }
  if (schema.type === 'boolean') others.push(fc.constantFrom('', '1', 'True', 'true,false', 'true%20'));
  if (IDS.includes(name))
    others.push(fc.constantFrom(',', 'a,', ',a', 'a,,b', 'a,%20b', 'a'.repeat(21).split('').join()));
  if (name === 'certifications') others.push(fc.constantFrom('', ',', 'MBE,', ',MBE', 'MBE,,WBE', '%20', 'MBE,%09'));
  if (schema.minLength !== undefined) others.push(fc.constantFrom('', '%20', '%09%C2%A0'));
  if (name === 'cursor') others.push(encoded(hostileText));
  return fc.oneof(unreadable, ...others);
}

/** Names that no endpoint has as a parameter. */
const strangeNames = fc.constantFrom(
  ...['x', 'Limit', 'limit[]', 'limit[0]', 'q[$ne]', '__proto__', 'constructor', 'toString', 'lead-entity', 'draft'],
  ...['api_key', 'Authorization', 'fields', '%6cimit%00', '%ff', '%', '', '='],
);

/** Valid and invalid queries for a path. A cursor in them is always invalid. */
export function queriesOf({ parameters = [] }: Operation, known: KnownValues): fc.Arbitrary<FuzzQuery> {
  const own = parameters.filter((parameter) => parameter.in === 'query');
  const optional = own.filter(({ name }) => name !== 'cursor');
  const rightPairs = fc
    .subarray(optional, { maxLength: Math.min(4, optional.length) })
    .chain((chosen) => fc.tuple(...chosen.map((entry) => rightValue(entry, known).map((value) => pair(entry, value)))));
  const separator = fc.constantFrom('&', '&', '&', '&&');
  const right = fc.tuple(rightPairs, separator).map(([pairs, between]) => query(pairs, 'right', between));
  const strange = fc.tuple(rightPairs, strangeNames, fc.constantFrom('', '=', '=1')).map(([pairs, name, rest]) => {
    // An empty pair between two separators is not a parameter.
    return query([...pairs, name + rest], name + rest === '' ? 'right' : 'wrong');
  });
  const garbage = encoded(hostileText).map((text) =>
    query([text.replaceAll('%3D', '=').replaceAll('%26', '&')], 'unsure'),
  );
  if (own.length === 0) return fc.oneof(fc.constant(query([], 'right')), strange, garbage);
  const wrong = fc.tuple(rightPairs, fc.constantFrom(...own)).chain(([pairs, entry]) =>
    wrongValue(entry).map((value) => {
      const others = pairs.filter((text) => !text.startsWith(`${entry.name}=`));
      return query([...others, pair(entry, value)], 'wrong');
    }),
  );
  const repeated = fc
    .tuple(rightPairs, fc.constantFrom(...own))
    .chain(([pairs, entry]) =>
      fc
        .tuple(rightValue(entry, known), rightValue(entry, known))
        .map(([one, two]) => query([pair(entry, one), ...pairs, pair(entry, two)], 'wrong')),
    );
  return fc.oneof(
    { weight: 6, arbitrary: right },
    { weight: 3, arbitrary: wrong },
    { weight: 1, arbitrary: repeated },
    { weight: 1, arbitrary: strange },
    { weight: 1, arbitrary: garbage },
  );
}

function pair({ name }: Parameter, value: string): string {
  return `${name}=${value}`;
}

function query(pairs: readonly string[], verdict: Verdict, between = '&'): FuzzQuery {
  return { text: pairs.length === 0 ? '' : `?${pairs.join(between)}`, verdict };
}

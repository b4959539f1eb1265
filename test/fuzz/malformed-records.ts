import { createHash } from 'node:crypto';
import fc from 'fast-check';

/** A mutation of one line. */
export interface Malformed {
  readonly verdict: 'wrong' | 'unsure';
  /**
   * `twice` repeats the line, `dangling` adds a line with an unknown reference; a function derives the new line from
   * the old one.
   */
  readonly change: 'twice' | 'dangling' | ((line: string, index: number) => string);
}

/** A nesting depth that overflows a recursive parser's stack. */
const DEEP = 20_000;

const deep = (open: string, close: string, inner = ''): string => open.repeat(DEEP) + inner + close.repeat(DEEP);

/** Incompressible text, too long for a database index even after compression. */
const DENSE = createHash('shake256', { outputLength: 4_500 }).update('dense').digest('base64');

/** JSON values to put in index of any other. */
const VALUES = [
  ...[
    'null',
    'true',
    'false',
    '0',
    '-1',
    '1.5',
    '1e400',
    '-0',
    '1e20',
    '9007199254740993',
    '""',
    '" "',
    '"x"',
    '[]',
    '{}',
  ],
  ...[
    '[[]]',
    '[null]',
    '[1,1]',
    '["a","a"]',
    '["__proto__","__proto__"]',
    '{"__proto__":{"x":1}}',
    '{"constructor":1}',
    '{"id":1}',
  ],
  ...[
    '"\\u0000"',
    '"\\ud800"',
    '"\\udc00x"',
    '"\\u2028"',
    '"2026-02-30T00:00:00Z"',
    '"99999-01-01T00:00:00Z"',
    '"PA"',
    '"count"',
  ],
  ...[deep('[', ']'), deep('[', ']', '"\\u0000"'), deep('{"x":', '}', '"\\ud800"')],
  ...[
    `"${'x'.repeat(100_000)}"`,
    `"${DENSE}"`,
    `[${'0,'.repeat(20_000)}0]`,
    `[${'{},'.repeat(20_000)}{}]`,
    `"${'\\u0301'.repeat(20_000)}"`,
  ],
];

const NAMES = [
  'x',
  '',
  '__proto__',
  'constructor',
  'toString',
  'prototype',
  'deleted',
  'ID',
  'supplier_id',
  '\\u0000',
  'id ',
  '0',
  'a/b~c',
];

type Path = (string | number)[];

/** The paths of all values in a record. */
function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [
    path,
    ...Object.entries(value).flatMap(([step, inner]) =>
      pathsOf(inner, [...path, Array.isArray(value) ? Number(step) : step]),
    ),
  ];
}

/** A placeholder for text that JSON.stringify cannot produce. */
const PLACEHOLDER = '\ue000mark\ue000';

function withValueAt(line: string, index: number, make: (old: unknown) => unknown, text: string): string {
  const record = JSON.parse(line) as Record<string, unknown>;
  const paths = pathsOf(record);
  const path = paths[index % paths.length] ?? [];
  const last = path.at(-1);
  if (last === undefined) return text;
  let parent = record as Record<string | number, unknown>;
  for (const step of path.slice(0, -1)) parent = parent[step] as Record<string | number, unknown>;
  parent[last] = make(parent[last]);
  return JSON.stringify(record).replace(JSON.stringify(PLACEHOLDER), () => text);
}

/** Mutations that keep a line valid JSON: replaced values, missing fields, unknown fields. */
export const malformedRecord: fc.Arbitrary<Malformed> = fc.oneof(
  fc.constantFrom(...VALUES).map((text): Malformed => ({
    verdict: 'unsure',
    change: (line, index) => safely(line, () => withValueAt(line, index, () => PLACEHOLDER, text)),
  })),
  fc.nat(100).map((which): Malformed => {
    return { verdict: 'unsure', change: (line) => safely(line, () => withoutField(line, which)) };
  }),
  fc
    .tuple(fc.constantFrom(...NAMES), fc.constantFrom(...VALUES), fc.boolean())
    .map(([name, text, isFirst]): Malformed => {
      const field = `"${name}":${text}`;
      const change = (line: string): string =>
        isFirst ? `{${field},${line.slice(1)}` : `${line.slice(0, -1)},${field}}`;
      return { verdict: name === 'ID' || name === 'x' ? 'wrong' : 'unsure', change };
    }),
  // In nested objects.
  fc.constantFrom(...NAMES).map((name): Malformed => {
    return { verdict: 'unsure', change: (line) => line.replace(/(?<=[[,])\{/, `{"${name}":1,`) };
  }),
);

function withoutField(line: string, which: number): string {
  const entries = Object.entries(JSON.parse(line) as object);
  return JSON.stringify(Object.fromEntries(entries.filter((_, index) => index !== which % entries.length)));
}

/** Leaves a line unchanged if an earlier mutation made it invalid JSON. */
function safely(line: string, change: () => string): string {
  try {
    return change();
  } catch {
    return line;
  }
}

/** Mutations of a line's text. Characters from U+F780 on become bytes that are invalid UTF-8. */
export const malformedLine: fc.Arbitrary<Malformed> = fc.oneof(
  fc
    .constantFrom('[]', 'null', '""', '1', '{', '}', '{}', '[{}]', 'NaN', '{"id":', "{'id':'x'}", '{"id":"x"}', '// x')
    .map((text): Malformed => ({ verdict: 'wrong', change: () => text })),
  fc
    .constantFrom(deep('[', ']'), deep('{"a":', '}', '1'), '['.repeat(DEEP), `{"id":"${'x'.repeat(200_000)}"}`)
    .map((text): Malformed => ({ verdict: 'wrong', change: () => text })),
  fc
    .tuple(
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.constantFrom(
        '\0',
        '\uf7ff',
        '\uf7c3',
        '\uf7ed\uf7a0\uf780',
        '\ufeff',
        '\r',
        '\u2028',
        '"',
        '\\',
        '\x1f',
        '\\u0000',
        '\\ud83d',
        ',',
        '{',
      ),
    )
    .map(([part, piece]): Malformed => ({
      verdict: 'unsure',
      change: (line) => {
        const offset = Math.floor(part * line.length);
        return line.slice(0, offset) + piece + line.slice(offset);
      },
    })),
  fc
    .double({ min: 0, max: 0.99, noNaN: true })
    .map((part): Malformed => ({ verdict: 'unsure', change: (line) => line.slice(0, Math.floor(part * line.length)) })),
  fc
    .constantFrom(
      '{"id":"a","deleted":true}',
      '{"abbreviation":"a","deleted":true}',
      '{"id":"a","deleted":false}',
      '{"id":"nowhere","deleted":true}',
    )
    .map((text): Malformed => ({ verdict: 'unsure', change: () => text })),
  fc.constant<Malformed>({ verdict: 'wrong', change: (line) => line + line }),
);

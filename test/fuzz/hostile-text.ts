import fc from 'fast-check';

/** Text that a component between the socket and the database can mishandle. */
export const HOSTILE_TEXTS: readonly string[] = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\r\nX-Injected: 1',
  'a\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
  '\u2028\u2029\u0085',
  '\ufeff',
  '\u202eright-to-left',
  'e\u0301'.repeat(300),
  '\u0301'.repeat(400),
  'ﷺ'.repeat(200),
  '😀'.repeat(200),
  '\u{10ffff}',
  "' or 1=1 --",
  "'; drop table catalog.contracts; --",
  '" OR ""="',
  '$$',
  '$1',
  '?1',
  ':name',
  '%',
  '%%',
  '_',
  '\\',
  '*',
  '(((((((',
  'NEAR(a b)',
  'a AND b OR NOT c',
  'name:x',
  '^x',
  '"unclosed',
  "x' & !y | z:* <-> w",
  '{{7*7}}${7*7}#{7*7}',
  '../../../../etc/passwd',
  '<script>alert(1)</script>',
  '__proto__',
  'constructor',
  'hasOwnProperty',
  'toString',
  'null',
  'undefined',
  'NaN',
  '-1',
  '0',
  '00',
  '1e9',
  '99999999999999999999',
  '9007199254740993',
  '2147483648',
  '9223372036854775808',
  'true',
  '[]',
  '{}',
  '{"$ne":null}',
  'a'.repeat(3_000),
  'a '.repeat(100),
  'a b c d e f g h i j k l m n o p q r s t u v w x y z',
  ','.repeat(500),
  '-'.repeat(200),
];

/** Any text, often a hostile one. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...HOSTILE_TEXTS) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 250 }) },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom(...HOSTILE_TEXTS), fc.string()).map(([a, b]) => a + b) },
);

/** Percent-encoded invalid UTF-8, and incomplete escapes. */
export const BROKEN_ENCODINGS: readonly string[] = [
  '%',
  '%4',
  '%ZZ',
  '%u0041',
  '%00',
  'a%00b',
  '%ff',
  '%c3',
  '%c3%28',
  '%a0%a1',
  '%c0%af',
  '%e0%80%af',
  '%ed%a0%80',
  '%f4%90%80%80',
  '%f8%88%80%80%80',
  '%fe%fe%ff%ff',
  '%%%',
];

/** Percent-encodes a text; some clients escape more characters, or use lower-case digits. */
export function encodeText(text: string, style: 'usual' | 'all' | 'small'): string {
  const usual = encodeURIComponent(text);
  if (style === 'usual') return usual;
  if (style === 'small') return usual.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase());
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

import fc from 'fast-check';
import type { Verdict } from './fuzz-query.ts';

export type HeaderLine = readonly [name: string, value: string];

/** API keys, by what they give access to. */
export interface FuzzKeys {
  /** Keys of partners that see everything, something and nothing. */
  readonly good: readonly string[];
  /** The key of a suspended partner. */
  readonly suspended: string;
  /** The key of a partner that is limited to contracts. */
  readonly confined: string;
  /** Well-formed but invalid keys: revoked, expired, never issued, or of another environment. */
  readonly bad: readonly string[];
}

/** The Authorization headers of a request, and the kind of key they contain; null if no header is accepted. */
export interface FuzzAuthorization {
  readonly lines: readonly HeaderLine[];
  readonly holder: 'good' | 'suspended' | 'confined' | null;
  readonly key: string | null;
}

/** Authorization headers, valid and invalid. */
export function authorizations({ good, suspended, confined, bad }: FuzzKeys): fc.Arbitrary<FuzzAuthorization> {
  const name = fc.constantFrom('Authorization', 'authorization', 'AUTHORIZATION');
  const scheme = fc.constantFrom('Bearer ', 'Bearer ', 'bearer ', 'BEARER   ');
  const accepted = (holder: 'good' | 'suspended' | 'confined', key: string): fc.Arbitrary<FuzzAuthorization> =>
    fc.tuple(name, scheme).map(([named, begins]) => ({ lines: [[named, begins + key]], holder, key }));
  const anyGood = fc.constantFrom(...good);
  const refusedValue = fc.oneof(
    fc.constantFrom(...bad).map((key) => `Bearer ${key}`),
    anyGood.map((key) => key),
    anyGood.map((key) => `Basic ${Buffer.from(`${key}:`).toString('base64')}`),
    anyGood.map((key) => `Bearer ${key} ${key}`),
    anyGood.map((key) => `Bearer "${key}"`),
    anyGood.map((key) => `Bearer ${key},`),
    anyGood.map((key) => `Bearer\t${key}`),
    anyGood.map((key) => `Bearer ${key.slice(0, -1)}`),
    anyGood.map((key) => `Bearer ${key.toUpperCase()}`),
    anyGood.map((key) => `Bearer ${key.replace('pds_test', 'pds_live')}`),
    fc.constantFrom(
      '',
      'Bearer',
      'Bearer ',
      'Digest x',
      `Bearer ${'x'.repeat(9_000)}`,
      'Bearer \xff\xfe',
      'Bearer pds_test_',
    ),
  );
  const refused = fc.tuple(name, refusedValue).map(([named, value]): HeaderLine[] => [[named, value]]);
  const twice = fc.tuple(anyGood, refusedValue, fc.boolean()).map(([key, other, isLast]): HeaderLine[] => {
    const lines: HeaderLine[] = [['Authorization', `Bearer ${key}`]];
    lines[isLast ? 'push' : 'unshift'](['authorization', other]);
    return lines;
  });
  const none = fc.oneof(fc.constant([]), refused, twice).map((lines) => ({ lines, holder: null, key: null }));
  return fc.oneof(
    { weight: 8, arbitrary: anyGood.chain((key) => accepted('good', key)) },
    { weight: 1, arbitrary: accepted('suspended', suspended) },
    { weight: 1, arbitrary: accepted('confined', confined) },
    { weight: 2, arbitrary: none },
  );
}

/** The other headers, and their effect on the request. */
export interface FuzzHeaders {
  readonly lines: readonly HeaderLine[];
  /** `wrong`: 400 if the key is accepted. */
  readonly verdict: Verdict;
  /** Whether `If-None-Match` can match the response. */
  readonly isConditional: boolean;
}

const LONG = 'x'.repeat(4_000);

/** Headers that are ignored, or that affect only the encoding of the response. */
const harmless: fc.Arbitrary<HeaderLine> = fc.oneof(
  fc
    .constantFrom(
      ...[
        'gzip',
        'br',
        'identity',
        'gzip, br;q=0.5',
        'deflate',
        '*',
        '*;q=0',
        'identity;q=0',
        'gzip;q=0,br;q=0,identity;q=0',
      ],
      ...[
        '',
        ',,,',
        'gzip;q=2',
        'gzip;q=abc',
        ';q=1',
        'GZIP',
        'gzip\t;\tq=1',
        'x'.repeat(300),
        `${'a,'.repeat(2_000)}br`,
      ],
    )
    .map((value): HeaderLine => ['Accept-Encoding', value]),
  fc.constantFrom<HeaderLine>(
    ['Accept', 'text/html'],
    ['Accept', 'application/xml;q=1, */*;q=0'],
    ['Accept-Language', 'xx'],
    ['Range', 'bytes=0-1'],
    ['If-Modified-Since', 'Wed, 21 Oct 2099 07:28:00 GMT'],
    ['If-Match', '"nothing"'],
    ['If-Range', '"nothing"'],
    ['Cache-Control', 'no-cache, only-if-cached'],
    ['Origin', 'https://elsewhere.example'],
    ['Cookie', `a=b; key=${LONG}`],
    ['X-HTTP-Method-Override', 'DELETE'],
    ['X-Original-URL', '/v1/contracts'],
    ['X-Rewrite-URL', '/health'],
    ['X-Forwarded-For', `${'1.2.3.4, '.repeat(300)}::1`],
    ['X-Forwarded-For', '"\\", _hidden, 999.1.1.1, ::ffff:zz'],
    ['X-Forwarded-Host', 'elsewhere.example'],
    ['X-Forwarded-Proto', 'javascript'],
    ['Forwarded', 'for="[::1]";host=elsewhere.example'],
    ['X-Request-ID', 'req_of_someone_else_00'],
    ['traceparent', '00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-ff'],
    ['traceparent', 'no trace'],
    ['__proto__', 'x'],
    ['constructor', 'x'],
    ['Content-Type', 'application/json'],
    ['Content-Type', 'multipart/form-data'],
    ['Upgrade', 'h2c'],
    ['HTTP2-Settings', 'AAMAAABkAARAAAAAAAIAAAAA'],
    ['Via', '1.1 somewhere'],
    ['Max-Forwards', '0'],
    ['X-Long', LONG],
    ['X-Bytes', '\x80\xff\xe9'],
    ['X-Tab', 'a\tb'],
    ['Trailer', 'X'],
    ['TE', 'trailers, deflate;q=0.5'],
  ),
);

const conditions: fc.Arbitrary<HeaderLine> = fc.constantFrom<HeaderLine>(
  ['If-None-Match', '*'],
  ['If-None-Match', 'W/"'],
  ['If-None-Match', '""'],
  ['If-None-Match', '"a", W/"b", "c'],
  ['If-None-Match', `${'W/"x", '.repeat(1_500)}*`],
  ['If-None-Match', ' , , '],
  ['If-None-Match', '\xff'],
);

const unexpected = fc.constantFrom<HeaderLine>(
  ['Expect', 'a-miracle'],
  ['Expect', '100-continue, x'],
  ['Host', 'second.example'],
);

/** Null in all but one of N cases. */
function rarely<T>(outOf: number, value: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: outOf - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });
}

/** Headers of an HTTP/1.1 request with one Host header, or sometimes two. */
export const fuzzHeaders: fc.Arbitrary<FuzzHeaders> = fc
  .tuple(
    fc.constantFrom('localhost', '127.0.0.1:1', '', 'elsewhere.example', '[::1]', 'a b', '\xff', 'x\'y"<z>'),
    fc.array(harmless, { maxLength: 4 }),
    rarely(4, conditions),
    rarely(20, unexpected),
  )
  .map(([host, some, condition, wrong]) => ({
    lines: [
      ['Host', host],
      ...some,
      ...(condition === null ? [] : [condition]),
      ...(wrong === null ? [] : [wrong]),
    ] as HeaderLine[],
    verdict: wrong === null ? 'right' : 'wrong',
    isConditional: condition !== null,
  }));

import { describe, expect, test } from 'vitest';
import { parseKey, withoutKeys } from '../../src/access/keys.ts';
import { networkOf } from '../../src/rate-limiting/request-limits.ts';
import { readBearerKey, readPath, routedUrl } from '../../src/http/request/request-head.ts';
import { chooseEncoding, entityTag, isUnchanged } from '../../src/http/response/send-text.ts';
import { openEnum } from '../../src/http/openapi/openapi-schemas.ts';
import { acceptedFormat, PAGE_PARAMETERS, decodeCursor } from '../../src/http/request/page-parameters.ts';
import {
  anyOfParameter,
  certificationsParameter,
  freeText,
  idsParameter,
  nigpParameter,
  timestampParameter,
  parseParameters,
  statesParameter,
} from '../../src/http/request/parameters.ts';
import { MAX_HEAD_BYTES } from '../../src/http/server/server.ts';
import { queryWords, wordsOf, Tokenizer } from '../../src/index/words.ts';
import { parseTimestamp } from '../../src/timestamp.ts';
import { readLines } from '../../src/publishing/read/lines.ts';
import { lineParser } from '../../src/publishing/read/record-parser.ts';
import { stateOfLocation } from '../../src/us-states.ts';

/**
 * The CPU time allowed for one text. Linear code takes a thousandth of it; quadratic code ten times as much, for about
 * 10^10 steps. The text is sixteen times as long as a request head can be.
 */
const MAX_DURATION_MS = 2_000;
const LENGTH = 256 * 1024;

/** Texts on which ambiguous regular expressions backtrack. */
const PIECES = [
  ...[
    'a',
    ' ',
    '\t',
    ',',
    ', ',
    ' ,',
    ',a',
    'a,',
    ', a',
    ';',
    '=',
    '&',
    'a=&',
    '%',
    '%41',
    '%ff',
    '+',
    '/',
    '//',
    '/a',
    '.',
    './',
  ],
  ...[
    '-',
    '--',
    ':',
    '::',
    '0:',
    '0',
    '00',
    '.0',
    'T',
    '"',
    'W/"',
    '"a", ',
    'W/"x",',
    '*',
    'gzip,',
    'gzip;q=0.1,',
    '__proto__,',
  ],
  ...[
    'pds_',
    'pds_test_',
    'pds_live_aaaaaaaa_',
    '\\',
    '\\u0000',
    '\u0301',
    'é',
    'ﬁ',
    '工',
    '😀',
    '\n',
    '\u2028',
    'a b',
  ],
];

const ENDS = ['', '!', ', '];

/** Functions that read a client's text as a whole: limited to the size of a request head. */
const OF_THE_HEAD: [name: string, read: (text: string) => unknown][] = [
  ['Accept', (text) => [acceptedFormat(text), acceptedFormat(`text/csv${text}`), acceptedFormat(`text/csv;${text}`)]],
  ['Accept-Encoding', chooseEncoding],
  ['If-None-Match', (text) => isUnchanged(text, entityTag('x'))],
];

const PARAMETERS = {
  ...{ q: freeText, ...PAGE_PARAMETERS, state: statesParameter },
  ...{
    certifications: certificationsParameter,
    id: idsParameter('/v1/things', ''),
    nigp: nigpParameter,
    at: timestampParameter(''),
  },
  status: anyOfParameter(openEnum('Status', ['open'], ''), ''),
};

const BINDING = { endpoint: '/v1/coops', partnerId: 1, filters: {} };
const parserOf = (kind: 'certifications' | 'suppliers') => {
  const parse = lineParser(kind);
  return (text: string) => parse(Buffer.from(text));
};
const parseCertification = parserOf('certifications');
const parseSupplier = parserOf('suppliers');

const OF_ANY_LENGTH: [name: string, read: (text: string) => unknown][] = [
  [
    'Authorization',
    (text) => [readBearerKey(['authorization', `Bearer ${text}`]), readBearerKey(['authorization', text])],
  ],
  ['a key', (text) => [parseKey(text), parseKey(`pds_test_${text}`)]],
  ['keys in a message', withoutKeys],
  ["a client's address", networkOf],
  [
    'a request target',
    (text) => [
      routedUrl({ url: text }),
      routedUrl({ url: `/v1/${text}` }),
      routedUrl({ url: `http://${text}` }),
      readPath(`/${text}`),
    ],
  ],
  ...Object.keys(PARAMETERS).map((name): [string, (text: string) => unknown] => [
    `the parameter ${name}`,
    (text) => tolerant(() => parseParameters(`/?${name}=${text}`, PARAMETERS)),
  ]),
  ['an unknown parameter', (text) => tolerant(() => parseParameters(`/?${text}`, PARAMETERS))],
  ['a timestamp', (text) => [parseTimestamp(text), parseTimestamp(`2026-01-01T00:00:00.${text}`)]],
  ['a cursor', (text) => decodeCursor(Buffer.alloc(32), BINDING, text)],
  ['words', (text) => [wordsOf(text), queryWords(text.slice(0, 800))]],
  ['a location', (text) => [stateOfLocation(text), stateOfLocation(`${text}, PA`)]],
  [
    'a certification of an import',
    (text) => parseCertification(JSON.stringify({ abbreviation: text, name: text, type: text })),
  ],
  [
    'a supplier of an import',
    (text) => parseSupplier(JSON.stringify({ id: text, name: text, states_served: Array.from(text.slice(0, 50_000)) })),
  ],
  ['a line of an import', (text) => parseSupplier(text)],
];

function tolerant(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

function slowest(read: (text: string) => unknown, length: number): { ms: number; piece: string } {
  let worst = { ms: 0, piece: '' };
  for (const piece of PIECES) {
    for (const end of ENDS) {
      const text = piece.repeat(Math.ceil(length / piece.length)).slice(0, length) + end;
      const from = process.threadCpuUsage();
      read(text);
      const { user, system } = process.threadCpuUsage(from);
      const ms = (user + system) / 1_000;
      if (ms > worst.ms) worst = { ms, piece: JSON.stringify([piece, end]) };
    }
  }
  return worst;
}

describe('any text is parsed in linear time:', () => {
  test.each(OF_ANY_LENGTH)(
    '%s',
    (_name, read) => {
      const { ms, piece } = slowest(read, LENGTH);
      expect(ms, piece).toBeLessThan(MAX_DURATION_MS);
    },
    120_000,
  );

  test.each(OF_THE_HEAD)('%s, of the size of a request head', (_name, read) => {
    const { ms, piece } = slowest(read, MAX_HEAD_BYTES);
    expect(ms, piece).toBeLessThan(MAX_DURATION_MS / 10);
  });
});

/** The CPU time that `work` takes on this thread, the best of two runs. */
async function cpuMs(work: () => unknown): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 2; run += 1) {
    const from = process.threadCpuUsage();
    await work();
    const { user, system } = process.threadCpuUsage(from);
    best = Math.min(best, (user + system) / 1_000);
  }
  return best;
}

/** Below this, timings do not show how they grow. Anything quadratic takes far longer here. */
const TOO_SHORT_MS = 60;

const solicitation = {
  ...{ id: 'sol_1', ref: 1, reference_number: 'R', title: 'T', status: 'open', lead_entity_id: 'le_1' },
  ...{ require_intent_registration: false, created_at: '2026-01-01T00:00:00Z' },
};
const item = { name: 'X', required: true, allows_multiple: true };
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const supplierAbout = (about: string): object => ({ id: 'sup_1', name: 'X', about });

/** Words of two letters for each bit, which all have the same polynomial hash with factor 31. */
const collidingWords = (count: number): string =>
  numbers(count)
    .map((number) => Array.from(number.toString(2).padStart(20, '0'), (bit) => (bit === '0' ? 'an' : 'c0')).join(''))
    .join(' ');

/** Import lines, by size. */
const LINES: [
  what: string,
  kind: 'suppliers' | 'solicitations',
  size: number,
  make: (size: number) => object | string,
][] = [
  ['words with colliding hashes', 'suppliers', 4_000, (n) => supplierAbout(collidingWords(n))],
  ['combining marks in descending order', 'suppliers', 20_000, (n) => supplierAbout(marks(n))],
  ['alternating combining marks', 'suppliers', 20_000, (n) => supplierAbout(`a${'\u0301\u0316'.repeat(n / 2)}`)],
  ['a character that normalizes to eighteen', 'suppliers', 50_000, (n) => supplierAbout('\ufdfa'.repeat(n))],
  ['one word', 'suppliers', 1_000_000, (n) => supplierAbout('a'.repeat(n))],
  ['one word of capital sigmas', 'suppliers', 100_000, (n) => supplierAbout('Σ'.repeat(n))],
  ['separate sigmas', 'suppliers', 100_000, (n) => supplierAbout("Σ'".repeat(n))],
  [
    'numbers that are array indexes',
    'suppliers',
    50_000,
    (n) =>
      supplierAbout(
        numbers(n)
          .map((i) => i * 512)
          .join(' '),
      ),
  ],
  ['unknown fields', 'suppliers', 10_000, (n) => Object.fromEntries(numbers(n).map((i) => [`field${i}`, i]))],
  ['a repeated field', 'suppliers', 100_000, (n) => `{${'"id":"sup_1",'.repeat(n)}"name":"X"}`],
  ['nesting', 'suppliers', 100_000, (n) => `{"id":"sup_1","x":${'['.repeat(n)}${']'.repeat(n)}}`],
  ['unknown states', 'suppliers', 10_000, (n) => ({ id: 'sup_1', name: 'X', states_served: numbers(n) })],
  [
    'documents with the same id',
    'solicitations',
    20_000,
    (n) => ({ ...solicitation, documents: numbers(n).map(() => ({ id: 1, name: 'X' })) }),
  ],
  [
    'unknown templates',
    'solicitations',
    20_000,
    (n) => ({ ...solicitation, requested_items: numbers(n).map((id) => ({ ...item, id, template_document_id: id })) }),
  ],
];

function marks(count: number): string {
  return `a${'\u0301'.repeat(count / 2)}${'\u0316'.repeat(count / 2)}`;
}

describe('a line of an import takes linear time:', () => {
  test.each(LINES)('%s', async (_case, kind, size, make) => {
    const [once, twice] = [size, 2 * size].map((count) => {
      const record = make(count);
      return Buffer.from(typeof record === 'string' ? record : JSON.stringify(record));
    });
    const parse = lineParser(kind);
    const onceMs = await cpuMs(() => parse(once ?? Buffer.alloc(0)));
    const twiceMs = await cpuMs(() => parse(twice ?? Buffer.alloc(0)));
    expect(twiceMs).toBeLessThan(3 * Math.max(onceMs, TOO_SHORT_MS));
  });

  test('a line that arrives in small pieces', async () => {
    async function* pieces(count: number): AsyncGenerator<Uint8Array> {
      for (let piece = 0; piece < count; piece += 1) yield Buffer.alloc(512, 'x');
    }
    const read = (count: number) => async (): Promise<void> => {
      for await (const lines of readLines(pieces(count))) if (lines.length > 1) throw new Error('more than one line');
    };
    expect(await cpuMs(read(16_000))).toBeLessThan(3 * Math.max(await cpuMs(read(8_000)), TOO_SHORT_MS));
  });
});

test("a record's words beyond the limit of the index only cost their tokenization", async () => {
  const [some, many] = [60_000, 240_000].map((count) =>
    numbers(count)
      .map((number) => `w${number.toString(36)}`)
      .join(' '),
  );
  const someMs = await cpuMs(() => new Tokenizer().termsOf([some ?? '']));
  const manyMs = await cpuMs(() => new Tokenizer().termsOf([many ?? '']));
  expect(manyMs).toBeLessThan(3 * someMs);
});

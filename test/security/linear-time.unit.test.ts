import { describe, expect, test } from 'vitest';
import { parseKey, withoutKeys } from '../../src/access/keys.ts';
import { networkOf } from '../../src/http/address-network.ts';
import { readBearerKey } from '../../src/http/authentication.ts';
import { entityTag, isUnchanged } from '../../src/http/caching.ts';
import { chooseEncoding } from '../../src/http/compression.ts';
import {
  certificationsParameter,
  cursorParameter,
  freeText,
  idParameter,
  instantParameter,
  limitParameter,
  oneOfParameter,
  parseParameters,
  stateParameter,
} from '../../src/http/parameters.ts';
import { readPath, routedUrl } from '../../src/http/request-target.ts';
import { LONGEST_HEAD_BYTES } from '../../src/http/server-options.ts';
import { parseInstant } from '../../src/instant.ts';
import { decodeCursor } from '../../src/paging/cursor.ts';
import { lineParser } from '../../src/publishing/record-parser.ts';
import { stateOfLocation } from '../../src/resources/suppliers/states.ts';
import { queryWords, wordsOf } from '../../src/search/words.ts';

/**
 * For one text. What is linear takes a thousandth of it, what is quadratic ten times as much: ten thousand million steps.
 * A quarter of a million characters are sixteen times what the head of a request holds.
 */
const MOST_MS = 2_000;
const LENGTH = 256 * 1024;

/** Texts at which expressions with two ways to match go back and forth. */
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

/** What reads the text of a client as a whole: given no more than what fits into the head of a request. */
const OF_THE_HEAD: [name: string, read: (text: string) => unknown][] = [
  ['Accept-Encoding', chooseEncoding],
  ['If-None-Match', (text) => isUnchanged(text, entityTag('x'))],
];

const PARAMETERS = {
  ...{ q: freeText, limit: limitParameter, cursor: cursorParameter, state: stateParameter },
  ...{ certifications: certificationsParameter, id: idParameter('/v1/things', ''), at: instantParameter('') },
  status: oneOfParameter(['open'], ''),
};

const BINDING = { endpoint: '/v1/coops', partnerId: 1, filters: {} };
const parseCertification = lineParser('certifications');
const parseSupplier = lineParser('suppliers');

const OF_ANY_LENGTH: [name: string, read: (text: string) => unknown][] = [
  [
    'Authorization',
    (text) => [readBearerKey(['authorization', `Bearer ${text}`]), readBearerKey(['authorization', text])],
  ],
  ['a key', (text) => [parseKey(text), parseKey(`pds_test_${text}`)]],
  ['keys in a message', withoutKeys],
  ['an address of a client', networkOf],
  [
    'a target',
    (text) => [routedUrl(text), routedUrl(`/v1/${text}`), routedUrl(`http://${text}`), readPath(`/${text}`)],
  ],
  ...Object.keys(PARAMETERS).map((name): [string, (text: string) => unknown] => [
    `the parameter ${name}`,
    (text) => tolerant(() => parseParameters(`/?${name}=${text}`, PARAMETERS)),
  ]),
  ['an unknown parameter', (text) => tolerant(() => parseParameters(`/?${text}`, PARAMETERS))],
  ['an instant', (text) => [parseInstant(text), parseInstant(`2026-01-01T00:00:00.${text}`)]],
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
      const from = performance.now();
      read(text);
      const ms = performance.now() - from;
      if (ms > worst.ms) worst = { ms, piece: JSON.stringify([piece, end]) };
    }
  }
  return worst;
}

describe('a text of any form is read in a time that grows no faster than its length:', () => {
  test.each(OF_ANY_LENGTH)(
    '%s',
    (_name, read) => {
      const { ms, piece } = slowest(read, LENGTH);
      expect(ms, piece).toBeLessThan(MOST_MS);
    },
    120_000,
  );

  test.each(OF_THE_HEAD)('%s, as long as the head of a request may be', (_name, read) => {
    const { ms, piece } = slowest(read, LONGEST_HEAD_BYTES);
    expect(ms, piece).toBeLessThan(MOST_MS / 10);
  });
});

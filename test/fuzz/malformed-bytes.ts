import fc from 'fast-check';

/** Fragments that change how a parser reads the rest. */
const PIECES = [
  ...['\r', '\n', '\r\n', '\r\n\r\n', '\n\n', '\0', ' ', '\t', ':', '\r\n ', '\r\n\t', '\x0b', '\x7f', '\xff', '%'],
  ...[
    'Content-Length: 5\r\n',
    'Content-Length: 0\r\n',
    'content-length: -1\r\n',
    'Content-Length : 5\r\n',
    'Content-Length: 5, 5\r\n',
  ],
  ...[
    'Transfer-Encoding: chunked\r\n',
    'Transfer-Encoding: identity\r\n',
    'Transfer-Encoding: x, chunked\r\n',
    'Transfer-Encoding:\x0bchunked\r\n',
  ],
  ...[
    'Connection: keep-alive\r\n',
    'Connection: upgrade\r\nUpgrade: websocket\r\n',
    'Expect: 100-continue\r\n',
    'Host: two\r\n',
  ],
  ...[
    'GET /health HTTP/1.1\r\nHost: x\r\n\r\n',
    '0\r\n\r\n',
    '5\r\nhello\r\n',
    'ffffffffffffffff\r\n',
    '5;ext="\n"\r\n',
  ],
  ...[
    ' HTTP/1.0',
    ' HTTP/0.9',
    ' HTTP/2.0',
    'HTTP/1.1 200 OK\r\n',
    'CONNECT x:1 HTTP/1.1\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  ],
  'x'.repeat(20_000),
];

type Mutation = (bytes: string) => string;

const share = fc.double({ min: 0, max: 1, noNaN: true });

/** Puts a text anywhere, in place of this many bytes. */
const spliced = (count: fc.Arbitrary<number>, text: fc.Arbitrary<string>): fc.Arbitrary<Mutation> =>
  fc.tuple(share, count, text).map(([place, length, piece]): Mutation => {
    return (bytes) => {
      const offset = Math.floor(place * bytes.length);
      return bytes.slice(0, offset) + piece + bytes.slice(offset + length);
    };
  });

const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  spliced(fc.constant(0), fc.constantFrom(...PIECES)),
  // At the start of a line, as a header.
  fc.tuple(fc.nat(20), fc.constantFrom(...PIECES)).map(([line, piece]): Mutation => {
    return (bytes) => {
      const lines = bytes.split('\r\n');
      const index = Math.min(line, lines.length - 1);
      return [...lines.slice(0, index), piece + (lines[index] ?? ''), ...lines.slice(index + 1)].join('\r\n');
    };
  }),
  spliced(fc.nat(30), fc.constant('')),
  spliced(
    fc.constant(1),
    fc.nat(255).map((byte) => String.fromCharCode(byte)),
  ),
  fc.constant<Mutation>((bytes) => bytes + bytes),
  fc.constant<Mutation>((bytes) => bytes.replaceAll('\r\n', '\n')),
  share.map(
    (part): Mutation =>
      (bytes) =>
        bytes.slice(0, Math.floor(part * bytes.length)),
  ),
);

/** Valid or invalid requests, as bytes, mutated in one to four places. */
export function malformedBytes(requests: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(requests, fc.array(mutation, { minLength: 1, maxLength: 4 }))
    .map(([bytes, mutations]) => mutations.reduce((text, change) => change(text), bytes));
}

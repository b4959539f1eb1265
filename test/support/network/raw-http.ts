import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A response parsed from raw bytes. */
export interface RawResponse {
  readonly status: number;
  /** By lower-case name; the values of a repeated header are joined by line feeds. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

export interface RawExchange {
  /** The loopback address to connect from, for a client distinct from the others. */
  from?: string;
  /** After this time the connection is destroyed, and the exchange fails. */
  timeoutMs?: number;
  /**
   * Half-closes the connection after sending, as a departing client does; for bytes that may not be a complete request.
   */
  ends?: boolean;
}

/**
 * Sends raw bytes, and returns everything received until the server closes the connection.
 *
 * @throws Error if the connection is still open after `timeoutMs`.
 */
export async function exchangeBytes(
  port: number,
  parts: readonly (string | Uint8Array)[],
  { from, timeoutMs = 20_000, ends = false }: RawExchange = {},
): Promise<Buffer> {
  const socket = connect({ port, host: '127.0.0.1', ...(from !== undefined && { localAddress: from }) });
  const received = readToEnd(socket);
  const late = new AbortController();
  const timer = setTimeout(() => {
    late.abort();
    socket.destroy();
  }, timeoutMs);
  try {
    await Promise.race([once(socket, 'connect'), received]);
    // Latin-1: each character is the byte of its code point.
    for (const part of parts)
      if (socket.writable) socket.write(typeof part === 'string' ? Buffer.from(part, 'latin1') : part);
    if (ends) socket.end();
    const bytes = await received;
    if (late.signal.aborted)
      throw new Error(
        `no end of the connection after ${timeoutMs} ms; until then: ${bytes.toString('latin1', 0, 500)}`,
      );
    return bytes;
  } finally {
    clearTimeout(timer);
  }
}

/** Reads a socket until either side closes it. */
export async function readToEnd(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // A reset arrives after the data, which is all that counts.
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('close', resolve));
  return Buffer.concat(chunks);
}

/**
 * Splits received bytes into responses, by their Content-Length or their chunks.
 *
 * @param isHead whether the response with this index is to a HEAD request, and so has no body.
 * @param options `mayBeCut` leaves out a stream that was cut.
 * @throws Error if the bytes are not a sequence of complete HTTP/1.1 responses.
 */
export function parseResponses(
  bytes: Buffer,
  isHead: (index: number) => boolean = () => false,
  { mayBeCut = false } = {},
): RawResponse[] {
  const responses: RawResponse[] = [];
  let rest = bytes;
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n');
    const [statusLine = '', ...lines] = rest.toString('latin1', 0, Math.max(end, 0)).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    if (end === -1 || Number.isNaN(status)) throw new Error(`no HTTP/1.1 response: ${rest.toString('latin1', 0, 500)}`);
    const headers = new Map<string, string>();
    for (const line of lines) {
      const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~\w-]+): ?(.*)$/s.exec(line) ?? [];
      if (name === '') throw new Error(`no header: ${line}`);
      const before = headers.get(name.toLowerCase());
      headers.set(name.toLowerCase(), before === undefined ? value : `${before}\n${value}`);
    }
    // A request that the parser refused never became a HEAD request.
    const isUnread = status === 400 && !headers.has('vary');
    const hasBody = (isUnread || !isHead(responses.length)) && status !== 304;
    const received = rest.subarray(end + 4);
    const isChunked = headers.get('transfer-encoding') === 'chunked';
    if (mayBeCut && isChunked && !received.includes('\r\n0\r\n\r\n')) return responses;
    const readBody = (): { body: Buffer; length: number } =>
      isChunked ? joinChunks(received) : cut(received, Number(headers.get('content-length') ?? 0));
    const { body, length } = hasBody ? readBody() : { body: Buffer.alloc(0), length: 0 };
    responses.push({ status, headers, body });
    rest = received.subarray(length);
  }
  return responses;
}

function cut(received: Buffer, length: number): { body: Buffer; length: number } {
  if (received.length < length) throw new Error(`${received.length} bytes of a body of ${length}`);
  return { body: received.subarray(0, length), length };
}

/** @returns `length` with the sizes of the chunks, up to and including the end of the last. */
function joinChunks(received: Buffer): { body: Buffer; length: number } {
  const chunks: Buffer[] = [];
  for (let start = 0; ;) {
    const end = received.indexOf('\r\n', start);
    const size = Number.parseInt(received.toString('latin1', start, Math.max(end, start)), 16);
    const next = end + 2 + size + 2;
    if (end === -1 || Number.isNaN(size) || received.length < next) throw new Error('the chunks do not end');
    if (size === 0) return { body: Buffer.concat(chunks), length: next };
    chunks.push(received.subarray(end + 2, end + 2 + size));
    start = next;
  }
}

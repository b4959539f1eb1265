import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** An answer as its bytes say it. */
export interface RawAnswer {
  readonly status: number;
  /** By their names in lower case; one that stands there twice has both values, with a line feed between. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

export interface RawExchange {
  /** An address of the loopback to come from, for a client that is not to be taken for another. */
  from?: string;
  /** After which the connection is ended, and the exchange fails. */
  timeoutMs?: number;
  /** Says that nothing more will come, as a client does that leaves; for bytes that may be no whole request. */
  ends?: boolean;
}

/** Sends bytes as they are, and gives everything that came back until the server ended the connection. */
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
    // Latin-1: a character is the byte of its number.
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

/** All bytes that a socket brings until it is closed, from whichever side. */
export async function readToEnd(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // A reset comes after what was received, which is what counts.
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('close', resolve));
  return Buffer.concat(chunks);
}

/**
 * Splits what came back into its answers, each with as many bytes of body as it announces.
 *
 * @param isHead whether the answer of this place is one to HEAD, which has no body whatever it announces.
 * @throws Error where bytes are left over that are no answer.
 */
export function parseAnswers(bytes: Buffer, isHead: (place: number) => boolean = () => false): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = bytes;
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n');
    const [statusLine = '', ...lines] = rest.toString('latin1', 0, Math.max(end, 0)).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    if (end === -1 || Number.isNaN(status))
      throw new Error(`no answer of HTTP/1.1: ${rest.toString('latin1', 0, 500)}`);
    const headers = new Map<string, string>();
    for (const line of lines) {
      const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~\w-]+): ?(.*)$/s.exec(line) ?? [];
      if (name === '') throw new Error(`no header: ${line}`);
      const before = headers.get(name.toLowerCase());
      headers.set(name.toLowerCase(), before === undefined ? value : `${before}\n${value}`);
    }
    // What the parser refused was none of HEAD's.
    const isUnread = status === 400 && !headers.has('vary');
    const hasBody = (isUnread || !isHead(answers.length)) && status !== 304;
    const length = hasBody ? Number(headers.get('content-length') ?? 0) : 0;
    const body = rest.subarray(end + 4, end + 4 + length);
    if (body.length < length) throw new Error(`${body.length} bytes of a body of ${length}`);
    answers.push({ status, headers, body });
    rest = rest.subarray(end + 4 + length);
  }
  return answers;
}

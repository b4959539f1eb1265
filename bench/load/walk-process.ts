import { once } from 'node:events';
import { connect } from 'node:net';
import { json } from 'node:stream/consumers';
import type { WalkOptions, WalkOutcome } from './walk.ts';

/*
 * Program: reads a list to its end, page by page, and prints the number of records and the time it took. It parses
 * HTTP itself: Node's client takes half as long per page as the service does, and would distort the result.
 */

const HEAD_END = '\r\n\r\n';
const RECORD = '"is_open":';
/** The cursor is within this many bytes of the end of a page. */
const END_BYTES = 600;

const { port, headers, path } = (await json(process.stdin)) as WalkOptions;
const socket = connect(port, '127.0.0.1');
const fields = Object.entries({ host: '127.0.0.1', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
let chunks: Buffer[] = [];
let received = 0;
let expected = Infinity;
let answered = Promise.withResolvers<Buffer>();

socket.setNoDelay(true).on('data', (chunk: Buffer) => {
  chunks.push(chunk);
  received += chunk.length;
  if (expected === Infinity) expected = lengthOf(chunks.length === 1 ? chunk : Buffer.concat(chunks));
  if (received < expected) return;
  const page = chunks.length === 1 ? chunk : Buffer.concat(chunks);
  [chunks, received, expected] = [[], 0, Infinity];
  answered.resolve(page);
});
socket.on('close', () => answered.reject(new Error('the server closed the connection')));
await once(socket, 'connect');

const startedAt = performance.now();
let records = 0;
let cursor: string | null = null;
do {
  const page = await ask(cursor === null ? path : `${path}&cursor=${cursor}`);
  const end = page.toString('latin1', Math.max(0, page.length - END_BYTES));
  const found: RegExpExecArray | null = /"next_cursor":(?:"([^"]+)"|null)/.exec(end);
  if (found === null) throw new Error(`no cursor in ${end}`);
  cursor = found[1] ?? null;
  for (let at = page.indexOf(RECORD); at !== -1; at = page.indexOf(RECORD, at + RECORD.length)) records += 1;
} while (cursor !== null);

const outcome: WalkOutcome = { records, seconds: (performance.now() - startedAt) / 1000 };
socket.removeAllListeners('close').destroy();
process.stdout.write(JSON.stringify(outcome));

function ask(address: string): Promise<Buffer> {
  answered = Promise.withResolvers();
  socket.write(`GET ${address} HTTP/1.1\r\n${fields.join('')}\r\n`);
  return answered.promise;
}

/** The length of a response, head and body; Infinity if its head is not complete yet. */
function lengthOf(begin: Buffer): number {
  const headEnd = begin.indexOf(HEAD_END);
  if (headEnd === -1) return Infinity;
  const head = begin.toString('latin1', 0, headEnd);
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (!head.startsWith('HTTP/1.1 200 ') || length === undefined) throw new Error(`no page: ${head}`);
  return headEnd + HEAD_END.length + Number(length);
}

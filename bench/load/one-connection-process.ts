import { once } from 'node:events';
import { connect } from 'node:net';
import { json } from 'node:stream/consumers';
import type { HttpRequest } from './load.ts';
import type { AllPagesOptions, OneAtATimeOptions, ReadOutcome, TimedResponse } from './clients.ts';

/*
 * Program: sends requests one at a time, or reads a list page by page, and prints the times as JSON. It parses HTTP
 * itself: Node's client takes half as long per page as the service does, and would distort the result.
 */

const HEAD_END = '\r\n\r\n';
/** Every list record has one, in every server's responses, and nothing in it has another. */
const RECORD = '"ref":';
/** The cursor, and the last record's id, are within this many bytes of the end of a page. */
const END_BYTES = 2_000;

const options = (await json(process.stdin)) as OneAtATimeOptions | AllPagesOptions;
const fields = Object.entries({ host: '127.0.0.1', ...options.headers }).map(
  ([name, value]) => `${name}: ${value}\r\n`,
);
let chunks: Buffer[] = [];
let received = 0;
let expected = Infinity;
let answered = Promise.withResolvers<Buffer>();

const socket = connect(options.port, '127.0.0.1');
socket.setNoDelay(true).on('data', (chunk: Buffer) => {
  chunks.push(chunk);
  received += chunk.length;
  if (expected === Infinity) expected = lengthOf(chunks.length === 1 ? chunk : Buffer.concat(chunks));
  if (received < expected) return;
  const response = chunks.length === 1 ? chunk : Buffer.concat(chunks);
  [chunks, received, expected] = [[], 0, Infinity];
  answered.resolve(response);
});
socket.on('close', () => answered.reject(new Error('the server closed the connection')));
await once(socket, 'connect');
const outcome = 'requests' in options ? await askAll(options) : await readAll(options);
socket.removeAllListeners('close').destroy();
process.stdout.write(JSON.stringify(outcome));

async function askAll({ requests }: OneAtATimeOptions): Promise<TimedResponse[]> {
  const responses: TimedResponse[] = [];
  for (const request of requests) {
    const startedAt = performance.now();
    const response = await ask(request);
    const milliseconds = performance.now() - startedAt;
    responses.push({ path: request.path, status: Number(response.toString('latin1', 9, 12)), milliseconds });
  }
  return responses;
}

async function readAll({ pages, maxSeconds }: AllPagesOptions): Promise<ReadOutcome> {
  const startedAt = performance.now();
  let [records, seconds] = [0, 0];
  for (let path: string | null = pages.first; path !== null && seconds < maxSeconds;) {
    const page = await ask({ path });
    if (page.toString('latin1', 9, 12) !== '200') throw new Error(`${path}: ${page.toString('utf8', 0, 500)}`);
    const before = records;
    for (let offset = page.indexOf(RECORD); offset !== -1; offset = page.indexOf(RECORD, offset + RECORD.length))
      records += 1;
    const end = page.toString('latin1', Math.max(0, page.length - END_BYTES));
    const cursor = /"next_cursor":"([^"]+)"/.exec(end)?.[1];
    const id = [...end.matchAll(/"id":"([^"]+)"/g)].at(-1)?.[1] ?? '';
    const isLast = records === before || (pages.next.includes('{cursor}') && cursor === undefined);
    const next = pages.next
      .replace('{cursor}', cursor ?? '')
      .replace('{id}', id)
      .replace('{read}', String(records));
    path = isLast ? null : next;
    seconds = (performance.now() - startedAt) / 1_000;
  }
  return { records, seconds };
}

function ask({ path, body }: HttpRequest): Promise<Buffer> {
  answered = Promise.withResolvers();
  const length = body === undefined ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`;
  socket.write(
    `${body === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1\r\n${fields.join('')}${length}\r\n${body ?? ''}`,
  );
  return answered.promise;
}

/** The length of a response, head and body; Infinity if its head is not complete yet. */
function lengthOf(begin: Buffer): number {
  const headEnd = begin.indexOf(HEAD_END);
  if (headEnd === -1) return Infinity;
  const head = begin.toString('latin1', 0, headEnd);
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (length === undefined) throw new Error(`no length: ${head}`);
  return headEnd + HEAD_END.length + Number(length);
}

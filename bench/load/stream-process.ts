import { createReadStream, createWriteStream } from 'node:fs';
import { request } from 'node:http';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { json } from 'node:stream/consumers';
import { createZstdDecompress } from 'node:zlib';
import type { IncomingMessage } from 'node:http';
import type { StreamOptions, StreamOutcome } from './clients.ts';

/* Program: reads a stream to its end, counts its lines, and can then insert them, as the fastest copy could be made. */

const LINE_FEED = 10;
const ROWS_A_TRANSACTION = 10_000;

const { port, headers, path, save } = (await json(process.stdin)) as StreamOptions;
const startedAt = performance.now();
const response = await new Promise<IncomingMessage>((resolve, reject) => {
  request({ port, host: '127.0.0.1', path, headers }, resolve).on('error', reject).end();
});
if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode}`);
const encoding = response.headers['content-encoding'];
const plain = encoding === 'zstd' ? response.pipe(createZstdDecompress()) : response;
let records = 0;
const saved = save === null ? null : createWriteStream(save.file);
for await (const chunk of plain as AsyncIterable<Buffer>) {
  for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, at + 1)) records += 1;
  if (saved?.write(chunk) === false) await new Promise((resolve) => saved.once('drain', resolve));
}
const seconds = (performance.now() - startedAt) / 1_000;
if (saved !== null) await new Promise((resolve) => saved.end(resolve));
const insertSeconds = save === null ? 0 : await insert(save.file, save.database);
const outcome: StreamOutcome = { records, seconds, insertSeconds };
process.stdout.write(JSON.stringify(outcome));

async function insert(from: string, path: string): Promise<number> {
  const begunAt = performance.now();
  using database = new DatabaseSync(path);
  database.exec(
    'pragma journal_mode = wal; create table records (id text primary key, line text not null) without rowid',
  );
  const statement = database.prepare('insert into records (id, line) values (?, ?)');
  let rows = 0;
  database.exec('begin');
  for await (const line of createInterface({ input: createReadStream(from) })) {
    const start = line.indexOf('"id":"') + 6;
    if (line.startsWith('{"meta"')) continue;
    statement.run(line.slice(0, start) + line.slice(start, line.indexOf('"', start)), line);
    rows += 1;
    if (rows % ROWS_A_TRANSACTION === 0) database.exec('commit; begin');
  }
  database.exec('commit');
  return (performance.now() - begunAt) / 1_000;
}

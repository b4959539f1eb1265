import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { json } from 'node:stream/consumers';
import { createZstdDecompress } from 'node:zlib';
import type { LinesOptions, ReadOutcome } from './clients.ts';

/* Program: counts the lines of a stream that was saved, and can insert them, as the fastest copy could be made. */

const ROWS_A_TRANSACTION = 10_000;

const { file, isZstd, database } = (await json(process.stdin)) as LinesOptions;
const saved = createReadStream(file);
const lines = createInterface({ input: isZstd ? saved.pipe(createZstdDecompress()) : saved });
const outcome: ReadOutcome =
  database === null
    ? { records: (await Array.fromAsync(lines, () => null)).length, seconds: 0 }
    : await insert(database);
process.stdout.write(JSON.stringify(outcome));

async function insert(path: string): Promise<ReadOutcome> {
  const begunAt = performance.now();
  using made = new DatabaseSync(path);
  made.exec('pragma journal_mode = wal; create table records (id text primary key, line text not null) without rowid');
  const statement = made.prepare('insert into records (id, line) values (?, ?)');
  let records = 0;
  made.exec('begin');
  for await (const line of lines) {
    const start = line.indexOf('"id":"') + 6;
    if (line.startsWith('{"meta"')) continue;
    statement.run(line.slice(0, start) + line.slice(start, line.indexOf('"', start)), line);
    records += 1;
    if (records % ROWS_A_TRANSACTION === 0) made.exec('commit; begin');
  }
  made.exec('commit');
  return { records, seconds: (performance.now() - begunAt) / 1_000 };
}

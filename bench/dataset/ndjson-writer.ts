import { closeSync, openSync, writeSync } from 'node:fs';

const CHUNK_LENGTH = 1 << 20;

/** Writes records to an NDJSON file, a megabyte at a time. Returns the number of records. */
export function writeNdjson(file: string, records: Iterable<object>): number {
  const descriptor = openSync(file, 'w');
  let count = 0;
  let chunk = '';
  for (const record of records) {
    chunk += `${JSON.stringify(record)}\n`;
    count++;
    if (chunk.length >= CHUNK_LENGTH) {
      writeSync(descriptor, chunk);
      chunk = '';
    }
  }
  writeSync(descriptor, chunk);
  closeSync(descriptor);
  return count;
}

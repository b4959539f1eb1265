import { closeSync, openSync, writeSync } from 'node:fs';

const CHUNK_LENGTH = 1 << 20;

/** Writes records to an NDJSON file, a megabyte at a time. */
export function writeNdjson(file: string, records: Iterable<object>): void {
  const descriptor = openSync(file, 'w');
  let chunk = '';
  for (const record of records) {
    chunk += `${JSON.stringify(record)}\n`;
    if (chunk.length >= CHUNK_LENGTH) {
      writeSync(descriptor, chunk);
      chunk = '';
    }
  }
  writeSync(descriptor, chunk);
  closeSync(descriptor);
}

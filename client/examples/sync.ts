// Keep a copy of the suppliers in a file. Each run fetches only what changed or was removed since the previous one.
import { readFile, rename, writeFile } from 'node:fs/promises';
import { createClient, type Supplier } from 'partner-data-client';

const { PARTNER_DATA_URL: baseUrl = 'http://127.0.0.1:8080', PARTNER_DATA_KEY: apiKey = '' } = process.env;
const client = createClient({ baseUrl, apiKey });

interface Copy {
  /** The watermark of the last complete listing. Never use the local clock or the greatest `updated_at` instead. */
  readonly watermark?: string;
  readonly suppliers: Supplier[];
}

const file = 'suppliers.json';
const saved = JSON.parse(await readFile(file, 'utf8').catch(() => '{"suppliers":[]}')) as Copy;
const copy = new Map(saved.suppliers.map((supplier) => [supplier.id, supplier]));
const unlisted = new Set(copy.keys());

let changed = 0;
const filters = { kinds: ['suppliers'] as const, updated_since: saved.watermark };
for await (const { data, reset, watermark } of client.changes(filters).pieces()) {
  for (const change of data) {
    if (change.removed) copy.delete(change.id);
    else if (change.kind === 'suppliers') copy.set(change.id, change.record);
    unlisted.delete(change.id);
  }
  changed += data.length;
  if (watermark === null) continue;
  if (reset) for (const id of unlisted) copy.delete(id);
  // Save records and watermark together, after the last piece: an interrupted run then restarts from the old one.
  await writeFile(`${file}.new`, JSON.stringify({ watermark, suppliers: [...copy.values()] }));
  await rename(`${file}.new`, file);
  console.log(`${changed} changed; ${copy.size} suppliers, as of ${watermark}`);
}

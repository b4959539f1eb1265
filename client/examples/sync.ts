// Keep a copy of a list in a file. Each run fetches only what changed since the previous one.
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

let { watermark } = saved;
let changed = 0;
for await (const page of client.suppliers.list({ updated_since: saved.watermark, limit: 100 }).pages()) {
  for (const supplier of page.data) copy.set(supplier.id, supplier);
  changed += page.data.length;
  ({ watermark } = page);
}

// Save records and watermark together, once the listing is complete: an interrupted run then restarts from the old one.
await writeFile(`${file}.new`, JSON.stringify({ watermark, suppliers: [...copy.values()] }));
await rename(`${file}.new`, file);
console.log(`${changed} changed; ${copy.size} suppliers, as of ${watermark}`);

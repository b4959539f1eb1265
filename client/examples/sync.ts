// A copy of a list in a file, brought in step by each run.
import { readFile, rename, writeFile } from 'node:fs/promises';
import { createClient, type Supplier } from 'partner-data-client';

const { PARTNER_DATA_URL: baseUrl = 'http://127.0.0.1:8080', PARTNER_DATA_KEY: apiKey = '' } = process.env;
const client = createClient({ baseUrl, apiKey });

interface Copy {
  /** The watermark of the last walk: never the time of this machine, nor the greatest `updated_at`. */
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

// Only now, when the walk is complete, and both together: a run that breaks off is begun anew from before.
await writeFile(`${file}.new`, JSON.stringify({ watermark, suppliers: [...copy.values()] }));
await rename(`${file}.new`, file);
console.log(`${changed} changed; ${copy.size} suppliers, as of ${watermark}`);

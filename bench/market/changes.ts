import { createReadStream, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** The share of solicitations that change after the first import: 30,000 of a million. */
const CHANGED_SHARE = 0.03;

/** Writes an import folder in which the last solicitations in id order have a different title. */
export async function writeChanges(data: string, solicitations: number, folder: string): Promise<void> {
  const firstChanged = Math.ceil(solicitations * (1 - CHANGED_SHARE));
  const changed: string[] = [];
  let place = 0;
  for await (const line of createInterface({ input: createReadStream(join(data, 'solicitations.ndjson')) })) {
    if (place++ < firstChanged) continue;
    const record = JSON.parse(line) as { title: string };
    changed.push(JSON.stringify({ ...record, title: `${record.title} (amended)` }));
  }
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'solicitations.ndjson'), `${changed.join('\n')}\n`);
}

import { createReadStream, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** The number of new records, and of changed ones. */
export const FEW = 1_000;

const DAY_MS = 86_400_000;

interface Solicitation {
  id: string;
  ref: number;
  reference_number: string;
  close_at: string | null;
}

/**
 * Writes two import folders: new solicitations, with ids spread evenly over the market's, and existing solicitations
 * with deadlines a day later. A small market yields fewer than `FEW` of each.
 */
export async function writeFewChanges(
  data: string,
  solicitations: number,
  folder: string,
): Promise<{ added: string; moved: string }> {
  const step = Math.max(2, Math.floor(solicitations / FEW));
  const added: Solicitation[] = [];
  const moved: Solicitation[] = [];
  let index = 0;
  for await (const line of createInterface({ input: createReadStream(join(data, 'solicitations.ndjson')) })) {
    const place = index++;
    if (place % step === 0 && added.length < FEW) {
      const record = JSON.parse(line) as Solicitation;
      const { id, reference_number: number } = record;
      // The market's refs are consecutive from 1,000.
      const ref = 1_000 + solicitations + added.length;
      added.push({ ...record, id: `${id}-new`, reference_number: `${number}-new`, ref });
    } else if (place % step >= step / 2 && moved.length < Math.min(FEW, added.length)) {
      const record = JSON.parse(line) as Solicitation;
      if (record.close_at === null) continue;
      moved.push({ ...record, close_at: new Date(Date.parse(record.close_at) + DAY_MS).toISOString() });
    }
  }
  return { added: write(join(folder, 'added'), added), moved: write(join(folder, 'moved'), moved) };
}

function write(folder: string, records: readonly Solicitation[]): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'solicitations.ndjson'), records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  return folder;
}

import { createReadStream, createWriteStream, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

export interface Solicitation {
  id: string;
  ref: number;
  reference_number: string;
  title: string;
  close_at: string | null;
}

/**
 * Writes an import folder with changed or new solicitations. `change` gets each solicitation of the market, with its
 * index in the order of ids, and returns what to write; null for nothing.
 *
 * @returns the folder.
 */
export async function writeChanges(
  data: string,
  folder: string,
  change: (index: number, read: () => Solicitation) => Solicitation | null,
): Promise<string> {
  async function* changed(): AsyncGenerator<string> {
    let index = 0;
    for await (const line of createInterface({ input: createReadStream(join(data, 'solicitations.ndjson')) })) {
      const record = change(index++, () => JSON.parse(line) as Solicitation);
      if (record !== null) yield `${JSON.stringify(record)}\n`;
    }
  }
  mkdirSync(folder, { recursive: true });
  await pipeline(Readable.from(changed()), createWriteStream(join(folder, 'solicitations.ndjson')));
  return folder;
}

/** Changes the titles of one in `step` solicitations from an index on. */
export function amendedTitles(step: number, text = 'amended', from = 0): Parameters<typeof writeChanges>[2] {
  return (index, read) => {
    if (index < from || index % step !== 0) return null;
    const record = read();
    return { ...record, title: `${record.title} (${text})` };
  };
}

const DAY_MS = 86_400_000;

/** New solicitations with ids spread evenly over the market's: one for each `step` of them. */
export function newRecords(step: number, solicitations: number): Parameters<typeof writeChanges>[2] {
  return (index, read) => {
    if (index % step !== 0) return null;
    const record = read();
    const { id, reference_number: number } = record;
    // The market's refs are consecutive from 1,000.
    return { ...record, id: `${id}-new`, reference_number: `${number}-new`, ref: 1_000 + solicitations + index / step };
  };
}

/** Existing solicitations, one of each `step`, with deadlines a day later. */
export function movedDeadlines(step: number): Parameters<typeof writeChanges>[2] {
  return (index, read) => {
    if (index % step !== Math.floor(step / 2)) return null;
    const record = read();
    return {
      ...record,
      close_at: new Date(Date.parse(record.close_at ?? '2026-12-01T00:00:00Z') + DAY_MS).toISOString(),
    };
  };
}

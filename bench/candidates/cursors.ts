import type { RunningService } from './service.ts';

interface Page {
  data: { id: string }[];
  meta: { next_cursor: string | null };
}

interface Gathered {
  /** Number of records at the beginning of the list to skip. */
  skip: number;
  /** Number of records from one cursor to the next. */
  step: number;
  count: number;
}

/**
 * Reads a list in short pages and keeps the cursor after each. Measured pages have another limit, so that these requests do
 * not put them in the cache.
 *
 * @returns the ids after which the service continues.
 */
export async function gatherCursors(service: RunningService, path: string, wanted: Gathered): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  let read = 0;
  do {
    const limit = read < wanted.skip ? 100 : wanted.step;
    const address = `${path}?limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`;
    const response = await fetch(`http://127.0.0.1:${service.port}${address}`, { headers: service.headers(0) });
    if (!response.ok) throw new Error(`${address}: status ${response.status}`);
    const { data, meta } = (await response.json()) as Page;
    read += data.length;
    cursor = meta.next_cursor;
    const id = data.at(-1)?.id;
    if (id === undefined || cursor === null || read < wanted.skip) continue;
    service.cursors.set(id, cursor);
    ids.push(id);
  } while (cursor !== null && ids.length < wanted.count);
  return ids;
}

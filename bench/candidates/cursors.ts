import type { RunningService } from './service.ts';

/** Few enough for a freshly started process to serve in one event-loop tick, even with pages of 100 contracts. */
const AT_ONCE = 4;

interface Page {
  data: { id: string }[];
  meta: { next_cursor: string | null };
}

/**
 * Collects the cursor after each of the given ids. Lists all records 100 per page and, for each id on a page, requests
 * that page again with a limit that makes it end at the id. Measured pages begin elsewhere or have a different limit,
 * so these requests do not put them in the cache.
 */
export async function gatherCursors(service: RunningService, path: string, ids: readonly string[]): Promise<void> {
  const wanted = new Set(ids);
  const last = [...ids].sort().at(-1);
  if (last === undefined) return;
  const found: { id: string; cursor: string | null; length: number }[] = [];
  let cursor: string | null = null;
  do {
    const page = await ask(service, path, 100, cursor);
    for (const [index, { id }] of page.data.entries()) {
      if (wanted.has(id)) found.push({ id, cursor, length: index + 1 });
    }
    const until = page.data.at(-1)?.id ?? '';
    cursor = until >= last ? null : page.meta.next_cursor;
  } while (cursor !== null);
  const gather = async (): Promise<void> => {
    for (let next = found.shift(); next !== undefined; next = found.shift()) {
      const { meta } = await ask(service, path, next.length, next.cursor);
      if (meta.next_cursor !== null) service.cursors.set(next.id, meta.next_cursor);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, gather));
}

async function ask(service: RunningService, path: string, limit: number, cursor: string | null): Promise<Page> {
  const query = `limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`;
  const answer = await fetch(`http://127.0.0.1:${service.port}${path}?${query}`, { headers: service.headers(0) });
  if (!answer.ok) throw new Error(`${path}?${query} was answered with ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as Page;
}

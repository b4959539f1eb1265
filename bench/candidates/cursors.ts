import type { RunningService } from './service.ts';

const WALKERS = 16;

interface Page {
  data: { id: string }[];
  meta: { next_cursor: string | null };
}

/**
 * Gathers the cursors that stand after the given ids: walks the list a hundred at a time, and
 * from there to each id one record at a time, so that no page that is measured later was asked
 * before.
 */
export async function gatherCursors(service: RunningService, path: string, ids: readonly string[]): Promise<void> {
  const wanted = [...ids].sort();
  const first = wanted[0];
  const last = wanted.at(-1);
  if (first === undefined || last === undefined) return;
  const starts: { cursor: string | null; until: string }[] = [];
  let cursor: string | null = null;
  do {
    const page = await ask(service, path, 100, cursor);
    const until = page.data.at(-1)?.id ?? '';
    if (until >= first) starts.push({ cursor, until });
    cursor = until >= last ? null : page.meta.next_cursor;
  } while (cursor !== null);
  const isWanted = new Set(wanted);
  const walk = async (): Promise<void> => {
    for (let start = starts.shift(); start !== undefined; start = starts.shift()) {
      await gatherOfPage(service, path, start, isWanted);
    }
  };
  await Promise.all(Array.from({ length: WALKERS }, walk));
}

async function gatherOfPage(
  service: RunningService,
  path: string,
  start: { cursor: string | null; until: string },
  isWanted: ReadonlySet<string>,
): Promise<void> {
  let { cursor } = start;
  for (;;) {
    const page = await ask(service, path, 1, cursor);
    const id = page.data[0]?.id;
    cursor = page.meta.next_cursor;
    if (id === undefined || cursor === null) return;
    if (isWanted.has(id)) service.cursors.set(id, cursor);
    if (id >= start.until) return;
  }
}

async function ask(service: RunningService, path: string, limit: number, cursor: string | null): Promise<Page> {
  const query = `limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`;
  const answer = await fetch(`http://127.0.0.1:${service.port}${path}?${query}`, { headers: service.headers(0) });
  if (!answer.ok) throw new Error(`${path}?${query} was answered with ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as Page;
}

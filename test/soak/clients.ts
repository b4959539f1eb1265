import { setTimeout as delay } from 'node:timers/promises';
import { createClient, type HttpResponse, type Client } from '../support/client.ts';
import type { Response } from './watch.ts';
import { LEAD_ENTITIES, SOLICITATIONS, STALE_MS, versionOf, type ServedRecord, type World } from './world.ts';

/** The state that the clients of a soak test share. */
export interface Soak {
  readonly url: string;
  readonly world: World;
  /** The key of a partner that sees everything. */
  readonly key: string;
  isOver: boolean;
  /** The number of requests by kind. */
  readonly asked: Record<string, number>;
  readonly responses: Response[];
  problem(text: string): void;
}

interface List {
  readonly data: ServedRecord[];
  readonly meta: { readonly next_cursor: string | null };
}

const PAUSE_MS = 15;
const any = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)] as T;

/** Sends a request, counts it, and checks the status. */
async function ask(
  soak: Soak,
  client: Client,
  path: string,
  {
    kind,
    status = 200,
    key = soak.key,
    headers = {},
  }: { kind: string; status?: number; key?: string; headers?: Record<string, string> },
): Promise<HttpResponse & { askedAtMs: number; answeredAtMs: number }> {
  const askedAtMs = performance.now();
  const answer = await client.get(path, { key, headers });
  const answeredAtMs = performance.now();
  soak.asked[kind] = (soak.asked[kind] ?? 0) + 1;
  soak.responses.push({ atMs: answeredAtMs, tookMs: answeredAtMs - askedAtMs });
  if (answer.status !== status)
    soak.problem(`${path}: ${answer.status} in place of ${status}: ${answer.body.slice(0, 200)}`);
  if (answer.headers['x-request-id'] === undefined) soak.problem(`${path}: no X-Request-ID`);
  return { ...answer, askedAtMs, answeredAtMs };
}

function look(
  soak: Soak,
  { askedAtMs, answeredAtMs }: { askedAtMs: number; answeredAtMs: number },
  records: ServedRecord[],
): void {
  for (const record of records) {
    const problem = soak.world.problemOf(record, askedAtMs, answeredAtMs);
    if (problem !== null) soak.problem(problem);
  }
}

/** Sends a mix of partners' requests until the soak ends, with keep-alive or on a new connection each time. */
export async function beMixedClient(soak: Soak, reconnects: boolean): Promise<void> {
  let client = createClient(soak.url);
  const tags = new Map<string, string>();
  while (!soak.isOver) {
    const id = `${any(['ctr', 'sol'])}_${String(Math.floor(Math.random() * 800)).padStart(5, '0')}`;
    const lists = id.startsWith('ctr') ? 'contracts' : 'solicitations';
    const question = any(['list', 'detail', 'search', 'filter', 'count', 'conditional', 'bad', 'references']);
    if (question === 'list') {
      const answer = await ask(soak, client, `/v1/${lists}?limit=${any([1, 25, 100])}`, { kind: question });
      const { data } = JSON.parse(answer.body) as List;
      look(soak, answer, data);
      const problem = soak.world.problemOfPage(data);
      if (problem !== null) soak.problem(problem);
    } else if (question === 'detail') {
      const answer = await ask(soak, client, `/v1/${lists}/${id}`, { kind: question });
      look(soak, answer, [JSON.parse(answer.body) as ServedRecord]);
    } else if (question === 'search') {
      const answer = await ask(soak, client, `/v1/${lists}?q=${id.replace('_', '+')}`, { kind: question });
      const { data } = JSON.parse(answer.body) as List;
      look(soak, answer, data);
      if (data.length !== 1 || data[0]?.id !== id) soak.problem(`${data.length} found for ${id}`);
    } else if (question === 'filter') {
      const index = Math.floor(Math.random() * SOLICITATIONS);
      const after = new Date(Date.UTC(2040, 0, 1) + index * 60_000).toISOString();
      const answer = await ask(soak, client, `/v1/solicitations?closing_after=${after}`, { kind: question });
      const { data } = JSON.parse(answer.body) as List;
      look(soak, answer, data);
      if (data.length !== Math.min(25, SOLICITATIONS - index)) soak.problem(`${data.length} that close after ${after}`);
    } else if (question === 'count') {
      const q = any(['', '&q=common']);
      const leadEntity = any(LEAD_ENTITIES.map((_, index) => index));
      const answer = await ask(soak, client, `/v1/solicitations/count?lead_entity=le_${leadEntity}${q}`, {
        kind: question,
      });
      const total = Math.ceil((SOLICITATIONS - leadEntity) / LEAD_ENTITIES.length);
      if (answer.body !== JSON.stringify({ total })) soak.problem(`count ${answer.body} in place of ${total}`);
    } else if (question === 'conditional') {
      const path = `/v1/${lists}/${id}`;
      const tag = tags.get(path);
      const headers = tag === undefined ? {} : { 'if-none-match': tag };
      const askedAtMs = performance.now();
      const answer = await client.get(path, { key: soak.key, headers });
      soak.asked[question] = (soak.asked[question] ?? 0) + 1;
      if (answer.status === 200) {
        look(soak, { askedAtMs, answeredAtMs: performance.now() }, [JSON.parse(answer.body) as ServedRecord]);
        tags.set(path, answer.headers.etag ?? '');
      } else if (answer.status !== 304 || answer.headers.etag !== tag)
        soak.problem(`${path}: ${answer.status} for a tag`);
    } else if (question === 'bad') {
      const bad = any([`/v1/${lists}?limit=0`, `/v1/${lists}?nothing=1`, `/v1/${lists}?cursor=x`]);
      await ask(soak, client, bad, { kind: question, status: 400 });
      await ask(soak, client, `/v1/${lists}/nothing-of-this-id`, { kind: question, status: 404 });
    } else {
      await ask(soak, client, `/v1/${any(['lead-entities', 'coops', 'certifications'])}`, { kind: question });
    }
    if (reconnects) {
      client.close();
      client = createClient(soak.url);
    }
    await delay(PAUSE_MS);
  }
  client.close();
}

/** Keeps a copy by syncs, and compares it with everything that was published early enough before each sync. */
export async function beFollower(soak: Soak): Promise<void> {
  const client = createClient(soak.url);
  const copy = new Map<string, number>();
  const watermarks = new Map<string, string>();
  for (let isLast = false; !isLast;) {
    isLast = soak.isOver;
    // Versions published at least `since` milliseconds ago must be in the copy after the sync.
    const published = soak.world.current;
    const since = isLast ? 0 : STALE_MS;
    const atMs = performance.now();
    await delay(isLast ? STALE_MS : 0);
    for (const list of ['contracts', 'solicitations']) {
      let cursor = '';
      let watermark = '';
      do {
        const after = watermarks.get(list);
        const query = `${after === undefined ? '' : `updated_since=${after}&`}limit=100${cursor && `&cursor=${cursor}`}`;
        const answer = await ask(soak, client, `/v1/${list}?${query}`, { kind: 'sync' });
        const { data, meta } = JSON.parse(answer.body) as List;
        look(soak, answer, data);
        for (const record of data) copy.set(record.id, versionOf(record));
        cursor = meta.next_cursor ?? '';
        watermark = String(answer.headers['x-sync-watermark']);
      } while (cursor !== '');
      watermarks.set(list, watermark);
    }
    const lacking = [...published].filter(([id, version]) => (copy.get(id) ?? -1) < version);
    const old = lacking.filter(([id, version]) => soak.world.endedBefore(id, version, atMs - since));
    if (old.length > 0) soak.problem(`a sync left out ${old.length}: ${JSON.stringify(old.slice(0, 3))}`);
    await delay(500);
  }
  client.close();
}

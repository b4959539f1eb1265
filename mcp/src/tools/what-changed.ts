import { z } from 'zod';
import type { ChangeFilters, FeedKind, Lists, RecordList, RequestOptions } from '../../../client/src/index.ts';
import { firstPage, recordLink, renderAnswer } from '../answers.ts';
import type { Service } from '../service.ts';
import { ArgumentError, limit, readable, time, type Tool } from '../tool.ts';

const KINDS = ['contracts', 'solicitations', 'suppliers'] as const;

/** Changes that a call reads. */
const MAX_READ = 2_000;

const input = z.strictObject({
  since: time.optional().describe('A date, a time, or the watermark of an earlier answer. Default: the last call'),
  kinds: z.array(z.enum(KINDS)).min(1).optional().describe('Default: all that the key includes'),
  limit,
});

export const whatChanged: Tool<typeof input> = {
  name: 'what_changed',
  description:
    'Lists contracts, solicitations and suppliers that are new or changed since a date; since the last call or a watermark, also those that were removed. The first call needs since.',
  input,
  async call(service, { since, limit: max, ...given }, options) {
    const kinds = given.kinds ?? (await readable(service, KINDS, options));
    const from = since ?? kinds.map((kind) => service.watermarks.get(kind) ?? '').sort()[0] ?? '';
    if (from === '') throw new ArgumentError('since is missing: no earlier call can be continued.');
    const filters = { updated_since: from, kinds, limit: 100 };
    const feed = await readFeed(service, filters, options);
    const [changes, watermark] = feed ?? (await readLists(service, filters, options));
    const counts = kinds.map((kind) => `${changes.filter((change) => change.kind === kind).length} ${kind}`);
    const summary = [
      `${changes.length} changes since ${from} were read: ${counts.join(', ')}.`,
      watermark === null ? 'There are more.' : '',
      changes.length > max ? `The first ${max} are shown.` : '',
      feed === null ? 'Removals, new notices, documents and questions are only known since a watermark.' : '',
    ];
    const lines = changes.slice(0, max).map((change) => changeLine(service, change));
    if (watermark === null)
      return renderAnswer(summary, lines, 'a later since, or fewer kinds. A copy by partner-data-mirror has all.');
    for (const kind of kinds) service.watermarks.set(kind, watermark);
    return renderAnswer(summary, lines, `without since, from here on; in another session, since "${watermark}".`);
  },
};

interface Changed {
  readonly kind: FeedKind;
  readonly id: string;
  /** Undefined if it was removed. */
  readonly record?: Lists[FeedKind]['record'] | undefined;
}

/** The watermark is null if there are more. */
type Changes = [changes: Changed[], watermark: string | null];

/** Null if the service does not know what was removed since then: its feed would have every record. */
async function readFeed({ client }: Service, filters: ChangeFilters, options: RequestOptions): Promise<Changes | null> {
  const changes: Changed[] = [];
  for await (const { data, reset, watermark } of client.changes(filters, options).pieces()) {
    if (reset) return null;
    changes.push(...data);
    if (watermark !== null || changes.length >= MAX_READ) return [changes, watermark];
  }
  throw new Error('a listing of changes ended without a watermark');
}

async function readLists({ client }: Service, { kinds = [], ...filters }: ChangeFilters, options: RequestOptions) {
  const lists = kinds.map(async (kind) => {
    const list: RecordList<Lists[FeedKind]['record']> = client[kind].list(filters, options);
    const { data, nextCursor, watermark } = await firstPage(list);
    return { changes: data.map((record) => ({ kind, id: record.id, record })), watermark, isCut: nextCursor !== null };
  });
  const read = await Promise.all(lists);
  // The earliest: what the other lists have since then is read again.
  const [watermark = null] = read.some(({ isCut }) => isCut) ? [] : read.map((list) => list.watermark).sort();
  return [read.flatMap(({ changes }) => changes), watermark] satisfies Changes;
}

function changeLine(service: Service, { kind, id, record }: Changed): object {
  if (record === undefined) return { kind, id, removed: true };
  const link = recordLink(service, kind, id);
  if ('name' in record) return { kind, id, name: record.name, updated_at: record.updated_at, link };
  const { title, status, close_at, updated_at } = record;
  return { kind, id, title, status, close_at, updated_at, link };
}

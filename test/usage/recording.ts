import { pino } from 'pino';
import type { Partner } from '../../src/access/scope.ts';
import type { DatabaseConfig } from '../../src/config.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { openForServing } from '../../src/database/open.ts';
import type { ObservedRequest } from '../../src/http/request/observers.ts';
import { openUsageStore } from '../../src/usage/usage-store.ts';
import type { UsageRow } from '../../src/database/tables.ts';
import { UsageRecorder } from '../../src/usage/usage-recorder.ts';

/** A request of a partner's key, as observers receive it. */
export const observedRequest = (changes: Partial<ObservedRequest>): ObservedRequest => ({
  ...{ id: 'req_1', method: 'GET', route: '/v1/coops', status: 200, durationMs: 1, partner: { id: 1 } as Partner },
  ...{ keyId: 'key00001', rows: 1, traceId: undefined, refusal: null },
  ...changes,
});

/** A serving process's recorder that writes only on request. */
export interface Recording extends AsyncDisposable {
  readonly recorder: UsageRecorder;
  /** Counts N requests of a key, each with one record. */
  readonly count: (keyId: string, requests: number) => void;
  /** The logged messages. */
  readonly said: string[];
  readonly close: () => Promise<void>;
}

/** @param retentionDays by default long enough to delete nothing (54 years). */
export function startRecording(
  config: DatabaseConfig,
  { clock = Date.now, retentionDays = 20_000 }: { clock?: () => number; retentionDays?: number } = {},
): Recording {
  const serving = openForServing(config);
  const said: string[] = [];
  const logger = pino(
    { level: 'info' },
    { write: (line: string) => void said.push((JSON.parse(line) as { msg: string }).msg) },
  );
  const recorder = new UsageRecorder({ store: openUsageStore(config, serving), clock, retentionDays, logger });
  const close = async (): Promise<void> => {
    await recorder.stop();
    await serving.close();
  };
  return {
    recorder,
    said,
    count(keyId, requests) {
      for (let request = 0; request < requests; request += 1) recorder.observe(observedRequest({ keyId }));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** All written rows, in order of the primary key. */
export function writtenUsage({ kysely }: OpenDatabase): Promise<UsageRow[]> {
  return kysely
    .selectFrom('access.usage')
    .selectAll()
    .orderBy('day')
    .orderBy('partner_id')
    .orderBy('key_id')
    .orderBy('endpoint')
    .execute();
}

/** The written requests by key. */
export async function writtenRequests(database: OpenDatabase): Promise<Record<string, number>> {
  const rows = await writtenUsage(database);
  return Object.fromEntries(rows.map(({ key_id: keyId, requests }) => [keyId, requests]));
}

/** Stores the counts of a day, a key and an endpoint in place of those before. The partner is the owner of the key, unless given. */
export async function storeUsage({ kysely }: OpenDatabase, counts: Partial<UsageRow>): Promise<void> {
  const subject = { day: '2026-04-15', key_id: 'k', endpoint: '/v1/coops', ...counts };
  const owner = kysely.selectFrom('access.keys').select('partner_id').where('id', '=', subject.key_id);
  const partner_id = counts.partner_id ?? (await owner.executeTakeFirstOrThrow()).partner_id;
  const row = { requests: 1, records: 1, limited: 0, failed: 0, ...subject, partner_id };
  await kysely
    .insertInto('access.usage')
    .values(row)
    .onConflict((conflict) => conflict.columns(['day', 'partner_id', 'key_id', 'endpoint']).doUpdateSet(row))
    .execute();
}

import { pino } from 'pino';
import type { Partner } from '../../src/access/scope.ts';
import type { DatabaseConfig } from '../../src/config.ts';
import type { OpenDatabase } from '../../src/database/database.ts';
import { openForServing } from '../../src/database/open.ts';
import { openUsageStore } from '../../src/usage/usage-store.ts';
import type { UsageRow } from '../../src/database/tables.ts';
import { UsageRecorder } from '../../src/usage/usage-recorder.ts';

/** A serving process's recorder that writes only on request. */
export interface Recording {
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
  return {
    recorder,
    said,
    count(keyId, requests) {
      const asked = {
        id: 'req_1',
        traceId: null,
        method: 'GET',
        route: '/v1/coops',
        status: 200,
        durationMs: 1,
        rows: 1,
        refusal: null,
      };
      const partner = { id: 1 } as Partner;
      for (let request = 0; request < requests; request += 1) recorder.observe({ ...asked, partner, keyId });
    },
    async close() {
      await recorder.stop();
      await serving.close();
    },
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

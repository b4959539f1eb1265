import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { pino } from 'pino';
import type { Partner } from '../../src/access/scope.ts';
import type { DatabaseConfig } from '../../src/config.ts';
import { openForServing, type OpenDatabase } from '../../src/database/database.ts';
import { openUsageStore } from '../../src/database/usage-store.ts';
import type { UsageRow } from '../../src/database/tables.ts';
import { UsageRecorder } from '../../src/usage/usage-recorder.ts';

/** A recorder as a serving process has it, which writes when it is told to. */
export interface Recording {
  readonly recorder: UsageRecorder;
  /** Counts so many requests of a key that found one record each. */
  readonly count: (keyId: string, requests: number) => void;
  /** The messages that were logged. */
  readonly said: string[];
  readonly close: () => Promise<void>;
}

/** @param retentionDays as long as there were days, unless it is said. */
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
      const asked = { id: 'req_1', method: 'GET', route: '/v1/coops', status: 200, durationMs: 1, rows: 1 };
      const message = new IncomingMessage(new Socket());
      const partner = { id: 1 } as Partner;
      for (let request = 0; request < requests; request += 1) recorder.observe({ ...asked, message, partner, keyId });
    },
    async close() {
      await recorder.stop();
      await serving.close();
    },
  };
}

/** All that was written, in the order of the table's key. */
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

/** Requests that were written, by key. */
export async function writtenRequests(database: OpenDatabase): Promise<Record<string, number>> {
  const rows = await writtenUsage(database);
  return Object.fromEntries(rows.map(({ key_id: keyId, requests }) => [keyId, requests]));
}

import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { createClient } from '../support/client.ts';
import type { Serving } from '../support/serving-process.ts';
import { versionOf } from './versions.ts';

interface LogLine {
  readonly pid: number;
  readonly msg: string;
  readonly requestId?: string;
}

/** The complete log lines so far. */
function logOf(serving: Serving): LogLine[] {
  return serving
    .output()
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as LogLine);
}

/**
 * Kills one of three workers under load. Returns, for each connection lost that the victim did not serve, the id of its
 * last request.
 *
 * @param version that every response must have.
 */
export async function killOneWorker(
  workers: Serving,
  { key, version, delayMs }: { key: string; version: number; delayMs: number },
): Promise<{ others: unknown[] }> {
  const port = await workers.port();
  const failed: string[] = [];
  const state = { isOver: false, answered: 0 };
  const clients = Array.from({ length: 9 }, async () => {
    const client = createClient(`http://127.0.0.1:${port}`);
    let lastId = '';
    while (!state.isOver) {
      try {
        const { status, headers, body } = await client.get('/v1/solicitations?limit=10', { key });
        expect({ status, version: versionOf([body]) }).toEqual({ status: 200, version });
        if (lastId === '') state.answered += 1;
        lastId = String(headers['x-request-id']);
      } catch (error) {
        if ((error as { code?: unknown }).code === undefined) throw error;
        failed.push(lastId);
      }
      await delay(2);
    }
    client.close();
  });
  const listening = (): number[] => [
    ...new Set(logOf(workers).flatMap(({ pid, msg }) => (msg.startsWith('Server listening') ? [pid] : []))),
  ];
  while (listening().length < 3 || state.answered < clients.length) await delay(20);
  await delay(delayMs);
  const victim = listening()[Math.floor(delayMs) % 3] ?? 0;
  process.kill(victim, 'SIGKILL');
  await workers.said('a worker is replaced');
  while (listening().length < 4) await delay(20);
  state.isOver = true;
  await Promise.all(clients);
  // Wait for log lines that are still buffered.
  await delay(300);
  const answeredBy = new Map(
    logOf(workers).flatMap(({ requestId, pid }) => (requestId === undefined ? [] : [[requestId, pid] as const])),
  );
  // Log lines that the victim had buffered are lost: a connection without a known worker was the victim's.
  return { others: failed.filter((id) => ![victim, undefined].includes(answeredBy.get(id))) };
}

import { fileURLToPath } from 'node:url';
import type { BenchContext } from '../measure/context.ts';
import type { RunningCandidate } from './candidate.ts';
import { startDirectus } from './directus.ts';
import { DIRECTUS, installPeers, PLATFORMATIC, POSTGRAPHILE } from './peers.ts';
import { startPlatformatic } from './platformatic.ts';
import { startPostGraphile } from './postgraphile.ts';
import { addressOf } from './question.ts';
import { nodeProgram, startServer } from './start-server.ts';

/** `node:http`, `pg`, and prepared statements that build the JSON in PostgreSQL. */
export const MINIMUM = 'a hand-written minimum';
/** The stack that a team would typically choose. */
export const DRIZZLE = 'Fastify with Drizzle';

/** Starts the baselines and peers over the same rows. A peer that fails to start is reported with the reason. */
export async function startBaselines({
  market: { plainUrl },
  settings: { withPeers },
  scratch,
  record,
}: Pick<BenchContext, 'market' | 'settings' | 'scratch' | 'record'>): Promise<RunningCandidate[]> {
  const running = [
    await startHandWritten(MINIMUM, 'minimum-server.ts', plainUrl),
    await startHandWritten(DRIZZLE, '../../tools/bench/drizzle-server.ts', plainUrl),
  ];
  const peers: [name: string, start: () => Promise<RunningCandidate>][] = [
    [PLATFORMATIC, () => startPlatformatic(plainUrl)],
    [POSTGRAPHILE, () => startPostGraphile(plainUrl)],
    [DIRECTUS, () => startDirectus(plainUrl, scratch)],
  ];
  for (const [name, start] of withPeers ? peers : []) {
    try {
      await installPeers();
      running.push(await start());
    } catch (error) {
      record.problem(name, String(error));
    }
  }
  return running;
}

function startHandWritten(name: string, program: string, plainUrl: string): Promise<RunningCandidate> {
  const path = fileURLToPath(new URL(program, import.meta.url));
  return startServer({
    name,
    command: nodeProgram(path, plainUrl),
    requestFor: (question) => ({ path: addressOf(question, 'after' in question ? question.after : undefined) }),
  });
}

import { fileURLToPath } from 'node:url';
import type { RunningCandidate } from './candidate.ts';
import { addressOf } from './question.ts';
import { startServer } from './started-server.ts';

const PROGRAM = fileURLToPath(new URL('../../tools/bench/drizzle-server.ts', import.meta.url));

export const DRIZZLE = 'Fastify with Drizzle';

/** The stack that a team would typically choose. */
export async function startDrizzle(plainUrl: string): Promise<RunningCandidate> {
  return startServer({
    name: DRIZZLE,
    command: (port) => ({
      program: process.execPath,
      args: [PROGRAM, String(port), plainUrl],
      env: { NODE_ENV: 'production' },
    }),
    requestFor: (question) => ({ path: addressOf(question, 'after' in question ? question.after : undefined) }),
  });
}

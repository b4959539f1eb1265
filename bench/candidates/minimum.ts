import { fileURLToPath } from 'node:url';
import type { RunningCandidate } from './candidate.ts';
import { addressOf } from './question.ts';
import { startServer } from './started-server.ts';

const PROGRAM = fileURLToPath(new URL('minimum-server.ts', import.meta.url));

export const MINIMUM = 'the hand-written minimum';

/** `node:http`, `pg`, and prepared statements that build the JSON in PostgreSQL. */
export async function startMinimum(plainUrl: string): Promise<RunningCandidate> {
  return startServer({
    name: MINIMUM,
    command: (port) => ({ program: process.execPath, args: [PROGRAM, String(port), plainUrl] }),
    requestFor: (question) => ({ path: addressOf(question, 'after' in question ? question.after : undefined) }),
  });
}

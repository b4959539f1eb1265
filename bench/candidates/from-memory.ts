import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunningCandidate } from './candidate.ts';
import { startServer } from './started-server.ts';

const PROGRAM = fileURLToPath(new URL('from-memory-server.ts', import.meta.url));

export const FROM_MEMORY = 'the same bytes from memory';

/** Bare `node:http`: the upper bound of the runtime. */
export async function startFromMemory(folder: string, body: string): Promise<RunningCandidate> {
  const file = join(folder, 'page.json');
  writeFileSync(file, body);
  return startServer({
    name: FROM_MEMORY,
    isFixed: true,
    command: (port) => ({ program: process.execPath, args: [PROGRAM, String(port), file] }),
    requestFor: () => ({ path: '/page.json' }),
  });
}

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunningCandidate } from './candidate.ts';
import { nodeProgram, startServer } from './start-server.ts';

const PROGRAM = fileURLToPath(new URL('from-memory-server.ts', import.meta.url));

/** Starts a server that sends the same bytes to everyone, with bare `node:http`: the upper bound of the runtime. */
export async function startFromMemory(folder: string, body: string): Promise<RunningCandidate> {
  const file = join(folder, 'page.json');
  writeFileSync(file, body);
  return startServer({
    name: 'the same bytes from memory',
    usesPostgres: false,
    command: nodeProgram(PROGRAM, file),
    requestFor: () => ({ path: '/page.json' }),
  });
}

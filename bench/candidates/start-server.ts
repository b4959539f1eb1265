import { readFileSync, rmSync } from 'node:fs';
import { SERVER_CORE } from '../machine/cores.ts';
import { findFreePort, waitForAnswer } from '../machine/ports.ts';
import { startProcess, type ProcessOptions } from '../machine/processes.ts';
import type { RunningCandidate } from './candidate.ts';

interface ServerDescription extends Pick<RunningCandidate, 'name' | 'requestFor' | 'allPages'> {
  isFixed?: boolean;
  usesPostgres?: boolean;
  headers?: RunningCandidate['headers'];
  /** Returns the program to start, given its port. */
  command(port: number): { program: string; args: string[] } & Partial<ProcessOptions>;
  /** A path that responds as soon as the server is ready. */
  readyPath?: string;
}

/**
 * Starts a server on `SERVER_CORE` and a free port, and waits until it responds. Its log is removed when it stops.
 *
 * @throws Error with the end of its log if it does not start.
 */
export async function startServer(description: ServerDescription): Promise<RunningCandidate> {
  const port = await findFreePort();
  const { program, args, ...options } = description.command(port);
  const server = startProcess(program, args, { core: SERVER_CORE, ...options });
  const { log } = options;
  const { name, requestFor, allPages } = description;
  try {
    await waitForAnswer(`http://127.0.0.1:${port}${description.readyPath ?? '/'}`, server);
  } catch (error) {
    await server.stop();
    const output = log === undefined ? String(error) : readFileSync(log, 'utf8').slice(-2_000);
    throw new Error(`${name} did not start: ${output}`, { cause: error });
  }
  return {
    name,
    requestFor,
    port,
    pid: server.pid,
    isFixed: description.isFixed ?? false,
    usesPostgres: description.usesPostgres ?? false,
    headers: description.headers ?? (() => ({})),
    ...(allPages !== undefined && { allPages }),
    async stop() {
      await server.stop();
      if (log !== undefined) rmSync(log, { force: true });
    },
  };
}

import { readFileSync, rmSync } from 'node:fs';
import { SERVER_CORE } from '../machine/cores.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { findFreePort } from '../../test/support/free-port.ts';
import { startProcess, type ProcessOptions, type StartedProcess } from '../machine/processes.ts';
import type { RunningCandidate } from './candidate.ts';

interface ServerDescription extends Pick<RunningCandidate, 'name' | 'requestFor' | 'allPages'> {
  usesPostgres?: boolean;
  headers?: RunningCandidate['headers'];
  /** Returns the program to start, given its port. */
  command(port: number): { program: string; args: string[] } & Partial<ProcessOptions>;
  /** A path that responds as soon as the server is ready. */
  readyPath?: string;
}

/** The command of a Node.js program that takes its port and one more argument. */
export const nodeProgram = (path: string, argument: string) => (port: number) => ({
  program: process.execPath,
  args: [path, String(port), argument],
  env: { NODE_ENV: 'production', GRAPHILE_ENV: 'production' },
});

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
    await waitForResponse(`http://127.0.0.1:${port}${description.readyPath ?? '/'}`, server);
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
    usesPostgres: description.usesPostgres ?? true,
    headers: description.headers ?? (() => ({})),
    ...(allPages !== undefined && { allPages }),
    async stop() {
      await server.stop();
      if (log !== undefined) rmSync(log, { force: true });
    },
  };
}

const RESPONSE_TIMEOUT_MS = 60_000;

/** Waits until a server responds, with any status. */
async function waitForResponse(url: string, server: StartedProcess): Promise<void> {
  const deadline = Date.now() + RESPONSE_TIMEOUT_MS;
  while (server.isRunning() && Date.now() < deadline) {
    try {
      await fetch(url, { signal: AbortSignal.timeout(2_000) }).then((response) => response.arrayBuffer());
      return;
    } catch {
      await delay(50);
    }
  }
  throw new Error(`${url} ${server.isRunning() ? 'does not respond' : 'ended by itself'}`);
}

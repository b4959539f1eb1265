import { OTHER_CORE, SERVER_CORE } from '../machine/cores.ts';
import { findFreePort, waitForAnswer } from '../machine/ports.ts';
import { startProcess, type ProcessOptions } from '../machine/processes.ts';
import type { RunningCandidate } from './candidate.ts';

export { OTHER_CORE };

interface ServerDescription extends Pick<RunningCandidate, 'name' | 'requestFor'> {
  isFixed?: boolean;
  remark?: string;
  headers?: Record<string, string>;
  /** Returns the program to start, given its port. */
  command(port: number): { program: string; args: string[] } & Partial<ProcessOptions>;
  /** A path that responds as soon as the server is ready. */
  readyPath?: string;
}

/** Starts a server on `SERVER_CORE` and a free port, and waits until it responds. */
export async function startServer(description: ServerDescription): Promise<RunningCandidate> {
  const port = await findFreePort();
  const { program, args, ...options } = description.command(port);
  const server = startProcess(program, args, { core: SERVER_CORE, ...options });
  try {
    await waitForAnswer(`http://127.0.0.1:${port}${description.readyPath ?? '/'}`, server);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return {
    name: description.name,
    process: server,
    port,
    isFixed: description.isFixed ?? false,
    usesPostgres: description.isFixed !== true,
    headers: () => description.headers ?? {},
    requestFor: description.requestFor,
    ...(description.remark !== undefined && { remark: description.remark }),
    stop: () => server.stop(),
  };
}

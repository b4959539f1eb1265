import { findLastingPort } from '../free-port.ts';
import { MAIN } from '../../commands/run-pds.ts';
import { startServingOf, type Serving } from '../serving-process.ts';
import type { Workspace } from './workspace.ts';

/** `pds serve` on its own port, stopped and started as an operator would. */
export class ServicePart {
  readonly name: string;
  readonly port: number;
  readonly url: string;
  readonly #workspace: Workspace;
  readonly #environment: Readonly<Record<string, string>>;
  #serving: Serving | null = null;
  #outputBefore = '';

  constructor(workspace: Workspace, port: number, environment: Record<string, string>) {
    this.name = `service ${port}`;
    this.port = port;
    this.url = `http://127.0.0.1:${port}`;
    this.#workspace = workspace;
    this.#environment = environment;
  }

  /** @param main the program of another version, which may not know every setting of this one. */
  async start(main?: string): Promise<void> {
    const settings = { ...this.#environment, PDS_PORT: String(this.port) };
    const serving = startServingOf(main ?? MAIN, { PDS_ADMIN_PORT: '0', ...settings });
    this.#workspace.guard(serving.pid, 'SIGKILL', serving.exited);
    this.#serving = serving;
    await serving.port();
  }

  isRunning(): boolean {
    return this.#serving !== null;
  }

  /** @returns the exit code and signal. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<unknown[]> {
    if (this.#serving === null) throw new Error(`${this.name} does not run`);
    this.#serving.kill(signal);
    const ended = await this.#serving.exited;
    await this.#serving.closed;
    this.#outputBefore = this.output();
    this.#serving = null;
    return ended;
  }

  /** Suspends it without closing its connections, like a service that hangs. */
  freeze(): void {
    this.#serving?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#serving?.kill('SIGCONT');
  }

  /** The output of all its processes so far. */
  output(): string {
    return this.#outputBefore + (this.#serving?.output() ?? '');
  }
}

/** Starts a service on a database; other settings keep their defaults. */
export async function startServicePart(
  workspace: Workspace,
  databaseUrl: string,
  environment: Record<string, string> = {},
): Promise<ServicePart> {
  const settings = { PDS_DATABASE_URL: databaseUrl, ...environment };
  const part = new ServicePart(workspace, await findLastingPort(), settings);
  await part.start();
  return part;
}

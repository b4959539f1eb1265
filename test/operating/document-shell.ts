import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { MAIN } from '../commands/run-pds.ts';
import { findCommands, ROOT, translate } from '../docs/documents.ts';
import { Workspace } from '../support/cluster/workspace.ts';
import { findLastingPort } from '../support/free-port.ts';

/** The output of a block of commands, as a terminal shows it, and the output blocks that follow it in the document. */
export interface Printed {
  readonly output: string;
  readonly samples: readonly string[];
}

/** A shell that runs blocks of documents verbatim, in a folder like a checkout, on other ports. It must be closed. */
export class DocumentShell {
  readonly folder: string;
  readonly origin: string;
  readonly #workspace: Workspace;
  readonly #settings: Record<string, string | undefined>;
  readonly #values: Record<string, string>;
  readonly #adminOrigin: string;
  readonly #ran = new Set<string>();

  private constructor(workspace: Workspace, port: number, adminPort: number, settings: Record<string, string>) {
    this.#workspace = workspace;
    this.folder = workspace.path('checkout');
    this.origin = `http://127.0.0.1:${port}`;
    this.#adminOrigin = `http://127.0.0.1:${adminPort}`;
    this.#values = { 'http://127.0.0.1:8080': this.origin, 'http://127.0.0.1:8081': this.#adminOrigin };
    mkdirSync(join(this.folder, 'bin'), { recursive: true });
    for (const name of ['sample', 'src', 'ops', 'convert', 'node_modules'])
      symlinkSync(join(ROOT, name), join(this.folder, name));
    symlinkSync(join(ROOT, 'sample'), join(this.folder, 'my-directory'));
    // npx looks for the package in the current folder, which has none here.
    const npx = `#!/bin/sh\ntest "$1" = pds && shift && exec ${process.execPath} ${MAIN} "$@"\n`;
    writeFileSync(join(this.folder, 'bin', 'npx'), npx, { mode: 0o755 });
    this.#settings = {
      ...{ HOME: process.env['HOME'], PDS_PORT: String(port), PDS_ADMIN_PORT: String(adminPort), ...settings },
      PATH: `${join(this.folder, 'bin')}:${settings['PATH'] ?? process.env['PATH'] ?? ''}`,
    };
  }

  static async create(workspace = new Workspace(), settings: Record<string, string> = {}): Promise<DocumentShell> {
    return new DocumentShell(workspace, await findLastingPort(), await findLastingPort(), settings);
  }

  close(): Promise<void> {
    return this.#workspace.close();
  }

  /** The blocks that were run, as `blocksRunBy` lists them. */
  get ran(): string[] {
    return [...this.#ran].sort();
  }

  /**
   * Runs a block to completion, and asserts that it succeeds.
   *
   * @param values replacements for values in the document.
   * @param code the exit code of the last command.
   */
  async run(file: string, start: string, values: Record<string, string> = {}, code = 0): Promise<Printed> {
    const { commands, outputs } = this.#find(file, start);
    return { output: await this.shell(translate(commands, values), code), samples: outputs };
  }

  /** Runs commands that are not in a document. */
  async shell(commands: string, code = 0): Promise<string> {
    const child = this.#start(commands);
    const [output, [exitCode]] = await Promise.all([text(child.stdout), once(child, 'exit') as Promise<[number]>]);
    expect(exitCode, `${commands}\n${output}`).toBe(code);
    return output;
  }

  /** Runs a block that ends with `serve`, calls `work` when the service is ready, and stops it. */
  serve(file: string, start: string, work?: () => Promise<unknown>, values?: Record<string, string>): Promise<string> {
    return this.serveWith(translate(this.#find(file, start).commands, values ?? {}), work);
  }

  /** Like `serve`, with commands that are not in a document. */
  async serveWith(commands: string, work?: () => Promise<unknown>): Promise<string> {
    const child = this.#start(commands);
    const output = text(child.stdout);
    const exited = once(child, 'exit');
    while (!(await this.#isReady())) {
      if (child.exitCode !== null) throw new Error(`${commands}\n${await output}`);
      await delay(100);
    }
    await work?.();
    // The whole process group of the shell.
    process.kill(-(child.pid ?? 0), 'SIGTERM');
    await exited;
    return output;
  }

  async #isReady(): Promise<boolean> {
    return fetch(`${this.#adminOrigin}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  #find(file: string, start: string): { commands: string; outputs: string[] } {
    const found = findCommands(file, start);
    this.#ran.add(`${file}: ${found.commands.split('\n')[0] ?? ''}`);
    return found;
  }

  #start(commands: string): ChildProcessByStdio<null, Readable, null> {
    const script = `exec 2>&1\n${translate(commands, this.#values)}`;
    const child = spawn('bash', ['-e', '-o', 'pipefail', '-c', script], {
      ...{ env: this.#settings, cwd: this.folder, detached: true },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (child.pid !== undefined) this.#workspace.guard(-child.pid, 'SIGKILL', once(child, 'exit'));
    return child;
  }
}

/**
 * Asserts that an output equals the document's, apart from timestamps, numbers, column widths and progress. A line of "…" in the
 * document is any lines.
 */
export function expectSample(output: string, sample: string | undefined): void {
  expect(sample).toBeDefined();
  const lines = mask(sample ?? '').split('\n');
  const patterns = lines.map((line) => (line === '…' ? '[^]*' : RegExp.escape(line)));
  expect(mask(output)).toMatch(new RegExp(`^${patterns.join('\n')}$`));
}

function mask(output: string): string {
  return (
    output
      // Only a command that takes long prints these.
      .replaceAll(/^\w+: \d+ %, .*\n/gm, '')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.-]+Z/g, '<time>')
      .replaceAll(/\d+(?:[.,-]\d+)*/g, '<number>')
      .replaceAll(/ {2,}/g, '  ')
      .replaceAll(/ +$/gm, '')
      .trim()
  );
}

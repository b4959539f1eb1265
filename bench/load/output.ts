import { once } from 'node:events';
import { setPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { OTHER_CORE } from '../machine/cores.ts';
import { spawnPinned } from '../machine/processes.ts';

/** The lowest share of a core. */
const BACKGROUND_PRIORITY = 19;

interface OutputOptions {
  env?: Record<string, string>;
  /** Written to its standard input. */
  input?: string;
  /** Gives way to other clients on the same core, so that only the server is shared with them. */
  isInBackground?: boolean;
}

/**
 * Runs a client on `OTHER_CORE` and returns its standard output.
 *
 * @throws Error with its standard error if it fails.
 */
export async function readOutput(
  program: string,
  args: readonly string[],
  { env = {}, input = '', isInBackground = false }: OutputOptions = {},
): Promise<string> {
  const child = spawnPinned(program, args, { core: OTHER_CORE, env, stdio: ['pipe', 'pipe', 'pipe'] });
  const { stdin, stdout, stderr } = child;
  if (stdin === null || stdout === null || stderr === null) throw new Error(`${program} has no output`);
  if (isInBackground && child.pid !== undefined) setPriority(child.pid, BACKGROUND_PRIORITY);
  const stop = (): unknown => child.kill();
  process.once('exit', stop);
  stdin.on('error', () => undefined).end(input);
  const closed = once(child, 'close') as Promise<[number | null]>;
  const [output, problems, [code]] = await Promise.all([text(stdout), text(stderr), closed]);
  process.off('exit', stop);
  if (code !== 0) throw new Error(`${program} failed: ${problems || output}`);
  return output;
}

/** Runs a program of this folder with options as JSON. Returns the JSON that it prints. */
export async function runClient(program: string, options: object, isInBackground = false): Promise<unknown> {
  const path = fileURLToPath(new URL(program, import.meta.url));
  return JSON.parse(await readOutput(process.execPath, [path], { input: JSON.stringify(options), isInBackground }));
}

import { text } from 'node:stream/consumers';
import { once } from 'node:events';
import { OTHER_CORE } from '../machine/cores.ts';
import { spawnPinned } from '../machine/processes.ts';

/**
 * Runs a load generator on `OTHER_CORE` and returns its standard output.
 *
 * @param input written to its standard input.
 * @throws Error with its standard error if it fails.
 */
export async function readOutput(
  program: string,
  args: readonly string[],
  env: Record<string, string>,
  input = '',
): Promise<string> {
  const child = spawnPinned(program, args, { core: OTHER_CORE, env, stdio: ['pipe', 'pipe', 'pipe'] });
  const { stdin, stdout, stderr } = child;
  if (stdin === null || stdout === null || stderr === null) throw new Error(`${program} has no output`);
  const stop = (): unknown => child.kill();
  process.once('exit', stop);
  stdin.on('error', () => undefined).end(input);
  const closed = once(child, 'close') as Promise<[number | null]>;
  const [output, problems, [code]] = await Promise.all([text(stdout), text(stderr), closed]);
  process.off('exit', stop);
  if (code !== 0) throw new Error(`${program} failed: ${problems || output}`);
  return output;
}

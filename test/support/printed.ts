import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createOutput, type Output } from '../../src/commands/output/output.ts';

/** Runs a command's action in this process; returns what it printed. */
export async function printedBy(
  work: (output: Output) => Promise<unknown>,
  isJson = false,
): Promise<{ stdout: string; stderr: string }> {
  const streams = [new PassThrough(), new PassThrough()] as const;
  const printed = Promise.all(streams.map((stream) => text(stream)));
  try {
    await work(createOutput(isJson, ...streams));
  } finally {
    for (const stream of streams) stream.end();
  }
  const [stdout = '', stderr = ''] = await printed;
  return { stdout, stderr };
}

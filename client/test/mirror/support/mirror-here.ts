import { EventEmitter, once } from 'node:events';
import { Writable } from 'node:stream';
import { Ending, runCommand, type CommandContext } from '../../../src/mirror/command.ts';
import type { MirrorEnd } from './mirror-process.ts';

/** A mirror in the process of the test: without the second that starting another one costs. */
export interface MirrorHere {
  /** Resolves once its output contains `what`. */
  printed(what: string): Promise<void>;
  stop(): void;
  readonly ended: Promise<MirrorEnd>;
}

export function startMirrorHere(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  settings: Partial<Pick<CommandContext, 'clock' | 'refusedPauseMs'>> = {},
): MirrorHere {
  const output = new EventEmitter();
  let [stdout, stderr] = ['', ''];
  const writable = (add: (text: string) => void): Writable =>
    new Writable({
      decodeStrings: false,
      write(text: string, _encoding, done) {
        add(text);
        output.emit('printed');
        done();
      },
    });
  const ending = new Ending();
  const ended = runCommand(args, environment, {
    ...{ stdout: writable((text) => (stdout += text)), stderr: writable((text) => (stderr += text)) },
    ...{ ending, clock: Date.now, ...settings },
  }).then((code) => ({ code, stdout, stderr }));
  return {
    async printed(what) {
      const failed = ended.then((end) => {
        throw new Error(`it ended:\n${end.stdout}${end.stderr}`);
      });
      while (!(stdout + stderr).includes(what)) await Promise.race([once(output, 'printed'), failed]);
      failed.catch(() => undefined);
    },
    stop: () => ending.begin(),
    ended,
  };
}

import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

/*
 * A program that cleans up after its parent, even if that is killed. Its standard input lists processes: `+PID SIGNAL`,
 * and `-PID` for one that has exited. When the input ends, it terminates those still running and removes the folder
 * given as its first argument.
 */

const MAX_SHUTDOWN_MS = 5_000;

const folder = process.argv[2];
if (folder === undefined) throw new Error('which folder?');
const processes = new Map<number, NodeJS.Signals>();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

for await (const line of createInterface({ input: process.stdin })) {
  const [pid = '', signal] = line.slice(1).split(' ');
  if (line.startsWith('+')) processes.set(Number(pid), signal as NodeJS.Signals);
  else processes.delete(Number(pid));
}

const send = (pid: number, signal: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
};
for (const [pid, signal] of processes) {
  send(pid, signal);
  // A stopped process acts on no signal but SIGKILL until it is continued.
  send(pid, 'SIGCONT');
}
const deadline = Date.now() + MAX_SHUTDOWN_MS;
while (Date.now() < deadline && [...processes.keys()].some((pid) => send(pid, 0))) await delay(20);
for (const pid of processes.keys()) send(pid, 'SIGKILL');
rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });

import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

/*
 * A program: is told of processes on standard input (`+PID SIGNAL`, and `-PID` of one that has
 * ended), and when that ends, ends those that still run and removes the folder named in its first
 * argument. The one who started it cannot forget that, even by being killed.
 */

const LONGEST_END_MS = 5_000;

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
  // One that was stopped hears nothing.
  send(pid, 'SIGCONT');
}
const deadline = Date.now() + LONGEST_END_MS;
while (Date.now() < deadline && [...processes.keys()].some((pid) => send(pid, 0))) await delay(20);
for (const pid of processes.keys()) send(pid, 'SIGKILL');
rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });

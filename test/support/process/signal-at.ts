import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';

/*
 * Preloaded into a program: sends it SIGNAL just before the first statement that contains SIGNAL_AT, on either engine,
 * so that the signal arrives at a known point of a command; with SIGNAL_AFTER, the first after one that contains that.
 */

const text = process.env['SIGNAL_AT'] ?? '';
const after = process.env['SIGNAL_AFTER'] ?? '';
let isDue = after === '';
let isSent = false;

function notice(statement: unknown): void {
  const sent = typeof statement === 'string' ? statement : ((statement as { text?: string } | null)?.text ?? '');
  if (!isDue) {
    isDue = sent.includes(after);
    return;
  }
  if (isSent || !sent.includes(text)) return;
  isSent = true;
  process.kill(process.pid, process.env['SIGNAL']);
}

for (const [prototype, name] of [
  [DatabaseSync.prototype, 'prepare'],
  [pg.Client.prototype, 'query'],
] as const) {
  const original = Reflect.get(prototype, name) as (...values: unknown[]) => unknown;
  Reflect.set(prototype, name, function (this: unknown, ...values: unknown[]): unknown {
    notice(values[0]);
    return Reflect.apply(original, this, values);
  });
}

import { prettyFactory } from 'pino-pretty';
import { DOCS_PATH } from '../../portal/portal.ts';
import { printable } from '../../printable.ts';

/** A start that takes longer, such as one with a migration, shows its progress. */
const MAX_HOLDING_MS = 10_000;

/**
 * A log for people: one line per entry. Holds lines back until `release`, so that they appear below what a starting
 * service prints.
 */
export function openTerminalLog(stream: NodeJS.WriteStream) {
  let held: string[] | null = [];
  const format = prettyFactory({
    colorize: stream.hasColors(),
    // The fields of a request are in the message instead, or only in JSON.
    ignore: 'pid,hostname,requestId,traceId,method,route,status,durationMs,partner,keyId,rows,code,reason,keyState',
    translateTime: 'SYS:HH:MM:ss',
    singleLine: true,
    messageFormat: (entry) => messageOf(entry),
  });
  const release = (): void => {
    for (const line of held ?? []) stream.write(line);
    held = null;
  };
  setTimeout(release, MAX_HOLDING_MS).unref();
  return {
    release,
    write(json: string): void {
      const entry = printableStrings(JSON.parse(json)) as Record<string, unknown>;
      if (isPortalFile(entry)) return;
      const line = format(entry);
      if (held === null) stream.write(line);
      else held.push(line);
    },
    /** For pino: lines are written at once. */
    flush: (done: () => void): void => done(),
  };
}

/** A page of the portal loads some twenty files, whose lines would push what the start printed off the screen. */
function isPortalFile({ route, status }: Record<string, unknown>): boolean {
  return typeof route === 'string' && route.startsWith(`${DOCS_PATH}/`) && /\.\w+$/.test(route) && Number(status) < 400;
}

function messageOf(entry: Record<string, unknown>): string {
  const text = (name: string): string | null => {
    const value = entry[name];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
  };
  const isRequest = text('method') !== null;
  const parts = isRequest
    ? [
        ...[text('method'), text('route') ?? '(no route)', text('status') ?? 'aborted'],
        `in ${text('durationMs')} ms`,
        entry['rows'] === 0 ? null : `with ${text('rows')} ${entry['rows'] === 1 ? 'record' : 'records'}`,
        text('partner'),
      ]
    : [text('msg')];
  const why = text('keyState') === null ? text('reason') : `key ${text('keyState')}`;
  const message = [...parts, text('requestId')].filter((part) => part !== null).join(' ');
  return why === null ? message : `${message}: ${why}`;
}

/** Escapes what a terminal would interpret, in every string of a value. */
function printableStrings(value: unknown): unknown {
  if (typeof value === 'string') return value.split('\n').map(printable).join('\n');
  if (Array.isArray(value)) return value.map(printableStrings);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [printable(name), printableStrings(inner)]));
}

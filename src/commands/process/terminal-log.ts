import { prettyFactory } from 'pino-pretty';
import { printable } from '../../printable.ts';

/** The fields of a request's line, which are in its message instead. */
const REQUEST_FIELDS = ['method', 'route', 'status', 'durationMs', 'partner', 'keyId', 'rows'];

/** A start that takes longer, such as one with a migration, shows its progress. */
const MAX_HOLDING_MS = 10_000;

/**
 * Writes the log for people: one line for each entry. Holds lines back until `release`, so that they appear below what
 * a starting service prints.
 */
export class TerminalLog {
  readonly #stream: NodeJS.WriteStream;
  readonly #format: (entry: object) => string;
  #held: string[] | null = [];

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
    setTimeout(() => this.release(), MAX_HOLDING_MS).unref();
    this.#format = prettyFactory({
      colorize: stream.hasColors(),
      ignore: ['pid', 'hostname', 'requestId', ...REQUEST_FIELDS].join(','),
      translateTime: 'SYS:HH:MM:ss',
      singleLine: true,
      messageFormat: (entry) => messageOf(entry),
    });
  }

  /** Takes a JSON line. */
  write(json: string): void {
    const line = this.#format(printableStrings(JSON.parse(json)) as object);
    if (this.#held === null) this.#stream.write(line);
    else this.#held.push(line);
  }

  /** Writes the lines held back, and from now on each at once. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const line of held) this.#stream.write(line);
  }

  /** For pino: lines are written at once. */
  flush(done: () => void): void {
    done();
  }
}

function messageOf(entry: Record<string, unknown>): string {
  const text = (name: string): string | null => {
    const value = entry[name];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
  };
  const id = text('requestId');
  if (text('method') === null) return [text('msg'), id].filter((part) => part !== null).join(' ');
  const parts = [
    ...[text('method'), text('route') ?? '(no route)', text('status') ?? 'aborted'],
    ...[
      `in ${text('durationMs')} ms`,
      `with ${text('rows')} ${entry['rows'] === 1 ? 'record' : 'records'}`,
      text('partner'),
      id,
    ],
  ];
  return parts.filter((part) => part !== null && part !== 'with 0 records').join(' ');
}

/** Escapes what a terminal would interpret, in every string of a value. */
function printableStrings(value: unknown): unknown {
  if (typeof value === 'string') return value.split('\n').map(printable).join('\n');
  if (Array.isArray(value)) return value.map(printableStrings);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [printable(name), printableStrings(inner)]));
}

import { parseArgs } from 'node:util';
import { readBaseUrl } from '../options.ts';

/** The parsed command line and environment. */
export interface MirrorOptions {
  readonly store: { readonly type: 'sqlite' | 'ndjson'; readonly path: string };
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Null for a single sync. */
  readonly watchMs: number | null;
  /** Warns if the service last checked its data longer ago; null for never. */
  readonly maxAgeMs: number | null;
  readonly isJson: boolean;
  /** The command to run after a sync that changed the copy; null for none. */
  readonly onChange: string | null;
  /** Options that were given, and have no effect any more. */
  readonly ignored: readonly string[];
}

/** The command line or the environment is wrong: exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

export const USAGE = `Usage: partner-data-mirror (--sqlite FILE | --ndjson DIRECTORY) [options]

Keeps a local copy of all records that your key can access. Later runs only fetch changes.

  --sqlite FILE            store the copy in a SQLite file (requires Node 22.13 or newer)
  --ndjson DIRECTORY       store the copy as NDJSON files, one for each kind of record
  --url URL                URL of the service (default: PARTNER_DATA_URL)
  --watch TIME             keep running, and sync at this interval, such as 5m; print a line after each sync that changed
                           the copy
  --max-age TIME           warn if the service last imported or checked its data longer ago, such as 2d
  --on-change COMMAND      after a sync that changed the copy, run COMMAND in a shell; its standard input has a line of
                           JSON for each record that was added, changed or removed, with the fields that changed
  --json                   print these lines and, after each sync, a line of JSON in place of a table
  --help, --version

--reconcile, --reconcile-every and --refresh of version 1 are accepted, but no longer needed: every sync finds everything.
The key is read from PARTNER_DATA_KEY. Times are numbers with s, m, h or d.
Exit codes: 0 success, 1 failure (records received so far are saved; run it again), 2 wrong usage.
`;

/** Options of version 1, when removals and details had to be looked for. */
const IGNORED = ['reconcile', 'reconcile-every', 'refresh'] as const;

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Reads the command line and the environment.
 *
 * @throws UsageError
 */
export function readOptions(
  words: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): MirrorOptions | 'help' | 'version' {
  const values = parseWords(words);
  if (values.help === true) return 'help';
  if (values.version === true) return 'version';
  const { sqlite, ndjson, url = environment['PARTNER_DATA_URL'] ?? '' } = values;
  if ((sqlite === undefined) === (ndjson === undefined))
    throw new UsageError('give exactly one of --sqlite FILE and --ndjson DIRECTORY');
  const path = sqlite ?? ndjson ?? '';
  if (path === '') throw new UsageError('the path of the copy is empty');
  const apiKey = environment['PARTNER_DATA_KEY'] ?? '';
  if (apiKey === '') throw new UsageError('set PARTNER_DATA_KEY to your API key');
  if (!/^[!-~]+$/.test(apiKey))
    throw new UsageError('PARTNER_DATA_KEY is not an API key: it contains spaces or non-ASCII characters');
  return {
    store: { type: sqlite === undefined ? 'ndjson' : 'sqlite', path },
    baseUrl: readUrl(url),
    apiKey,
    watchMs: readTime('--watch', values.watch),
    maxAgeMs: readTime('--max-age', values['max-age']),
    isJson: values.json === true,
    onChange: values['on-change'] ?? null,
    ignored: IGNORED.filter((name) => values[name] !== undefined).map((name) => `--${name}`),
  };
}

function parseWords(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      options: {
        sqlite: { type: 'string' },
        ndjson: { type: 'string' },
        url: { type: 'string' },
        reconcile: { type: 'boolean' },
        'reconcile-every': { type: 'string' },
        refresh: { type: 'string' },
        watch: { type: 'string' },
        'max-age': { type: 'string' },
        json: { type: 'boolean' },
        'on-change': { type: 'string' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    // The argument could be a key, so the message must not quote it: use a fixed text or only the first sentence.
    const { code } = error as { code?: string };
    if (code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL') throw new UsageError('unexpected argument');
    throw new UsageError((error as Error).message.split('. ')[0] ?? 'invalid options');
  }
}

function readUrl(url: string): string {
  if (url === '') throw new UsageError('give the URL of the service with --url or PARTNER_DATA_URL');
  try {
    return readBaseUrl('the service URL', url);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** Returns milliseconds; null without the option. */
function readTime(option: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const [, number = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const unitMs = UNITS_MS[unit];
  if (unitMs === undefined) throw new UsageError(`${option} must be a time such as 90s, 5m or 12h`);
  if (Number(number) === 0) throw new UsageError(`${option} must be at least 1s`);
  return Number(number) * unitMs;
}

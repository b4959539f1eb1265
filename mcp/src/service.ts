import { createClient, type Client, type FeedKind, type KeyExpiry } from '../../client/src/index.ts';
import { readBaseUrl } from '../../client/src/options.ts';

export const USAGE = `Usage: partner-data-mcp [--help | --version]

An MCP server over standard input and output, which assistants start. It reads the URL of the partner data service, such as
https://api.example.com, from PARTNER_DATA_URL, and the API key from PARTNER_DATA_KEY.
`;

/** The partner data service, as the tools of one connection use it. */
export interface Service {
  readonly client: Client;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** By kind, the watermark of the last listing of changes. */
  readonly watermarks: Map<FeedKind, string>;
  /** Sentences for the user, which the next answer takes. */
  readonly notes: string[];
  /** Removes the key from a text, whatever brought it there. */
  readonly withoutKey: (text: string) => string;
}

/** Assistants wait for a minute or less, so that an answer says when a limit ends, and does not wait for it. */
const PATIENCE = { timeoutMs: 15_000, retry: { retries: 1, longestRetryAfterMs: 6_000 } };

/** @throws Error if the environment lacks the address or the key, which it never names. */
export function createService(env: Readonly<Record<string, string | undefined>>, clock: () => number): Service {
  const read = (name: string): string => {
    const value = env[name] ?? '';
    // Assistants pass on a reference to a variable that is not set as it is written.
    if (!/^[!-~]+$/.test(value) || /^\$\{.*\}$/.test(value)) throw new Error(`${name} is not set (see --help)`);
    return value;
  };
  const apiKey = read('PARTNER_DATA_KEY');
  const baseUrl = readBaseUrl('PARTNER_DATA_URL', read('PARTNER_DATA_URL'));
  const notes: string[] = [];
  const onKeyExpiring = ({ expiresAt }: KeyExpiry): void =>
    void notes.push(`Tell the user: the API key of this server ends at ${expiresAt}, and must be changed before.`);
  const client = createClient({ baseUrl, apiKey, onKeyExpiring, ...PATIENCE });
  const withoutKey = (text: string): string => text.replaceAll(apiKey, '[key]');
  return { client, baseUrl, clock, watermarks: new Map(), notes, withoutKey };
}

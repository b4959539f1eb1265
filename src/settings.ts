import { isIP } from 'node:net';

export interface Setting<T = unknown> {
  /** In Markdown. */
  readonly description: string;
  readonly default: string;
  /** Completes `… must be`. */
  readonly accepts: string;
  /** Parses the value; undefined if it is invalid. */
  parse(value: string): T | undefined;
  /** True if a value can contain a password. The variable `…_FILE` can then name a file with the value instead. */
  readonly isSecret?: true;
}

const host = (description: string): Setting<string> => ({
  description,
  default: '127.0.0.1',
  accepts: 'a host name or IP address',
  parse: (value) => value.trim() || undefined,
});

const wholeNumber = (description: string, byDefault: number, min: number, max: number): Setting<number> => ({
  description,
  default: String(byDefault),
  accepts: `a whole number from ${min} to ${max}`,
  parse: (value) => integer(value, min, max),
});

const choice = <const T extends string>(description: string, byDefault: T, values: readonly T[]): Setting<T> => ({
  description,
  default: byDefault,
  accepts: `one of ${values.join(', ')}`,
  parse: (value) => values.find((known) => known === value),
});

const flag = (description: string): Setting<boolean> => ({
  description,
  default: 'false',
  accepts: 'true or false',
  parse: (value) => (value === 'true' || value === 'false' ? value === 'true' : undefined),
});

/** All settings, by the names of their variables. */
export const SETTINGS = {
  PDS_ENVIRONMENT: choice('which keys are valid', 'dev', ['dev', 'uat', 'production']),
  PDS_DATABASE_URL: {
    description: 'the database; PATH is absolute, or relative to the working directory',
    default: 'sqlite:data/pds.sqlite',
    accepts: 'sqlite:PATH, or a postgres:// URL whose sslmode, if any, is verify-full or disable',
    parse: parseDatabaseUrl,
    isSecret: true,
  },
  PDS_REPLICA_URL: {
    description: 'the replica of PostgreSQL to read from, or HAProxy in front of several',
    default: '',
    accepts:
      'a postgres:// URL whose sslmode, if any, is verify-full or disable; PDS_DATABASE_URL must be a postgres:// URL too',
    parse: (value) => parseUrl(value, isPostgresUrl),
    isSecret: true,
  },
  PDS_REDIS_URL: {
    description: 'Redis or Valkey, for limits that several hosts share',
    default: '',
    accepts:
      'redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], or rediss://… for TLS, or ' +
      'redis+sentinel://[USER:PASSWORD@]HOSTS[:PORT]/NAME[/DATABASE] for the primary that Sentinel on these hosts, ' +
      'separated by commas, calls NAME; with special characters percent-encoded',
    parse: (value) => parseUrl(value, isRedisUrl),
    isSecret: true,
  },
  PDS_HOST: host('the address that the API listens on'),
  PDS_PORT: wholeNumber('the port of the API; 0 for any free port', 8080, 0, 65_535),
  PDS_REUSE_PORT: flag('whether several processes can listen on `PDS_PORT`'),
  PDS_PUBLIC_URL: {
    description: 'the address that partners use, for `/openapi.json` and for the guides as Markdown',
    default: '',
    accepts: 'https://HOST[:PORT] or http://HOST[:PORT], without a path',
    parse: (value) => (value === '' ? null : parseOrigin(value)),
  },
  PDS_ADMIN_HOST: host('the address of the admin port'),
  PDS_ADMIN_PORT: wholeNumber('the admin port, different from `PDS_PORT`; 0 for any free port', 8081, 0, 65_535),
  PDS_REQUESTS_PER_MINUTE: wholeNumber('the limit of partners that have none of their own', 600, 1, 1_000_000),
  PDS_TRUSTED_PROXIES: {
    description: 'proxies whose `X-Forwarded-For` is trusted',
    default: '',
    accepts: 'comma-separated IP addresses or networks, such as 10.0.0.1,10.1.0.0/16',
    parse: parseNetworks,
  },
  PDS_LOG_LEVEL: choice('the least severe messages that are logged', 'info', [
    ...['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
  ]),
  PDS_USAGE_RETENTION_DAYS: wholeNumber('how long usage is stored', 400, 1, 36_500),
  PDS_AUDIT_RETENTION_DAYS: wholeNumber('how long the audit trail is stored', 1830, 1, 36_500),
  PDS_REMOVALS_DAYS: wholeNumber('how long the feed of changes lists a removal', 90, 1, 36_500),
  PDS_KEEP_RELEASES: wholeNumber('how many catalogs of releases SQLite keeps, for `pds rollback`', 2, 1, 1_000),
} satisfies Record<string, Setting>;

/** Settings of earlier versions, each with what replaces it. */
export const REMOVED_SETTINGS: Readonly<Record<string, string>> = {
  PDS_REPLICA_URLS: 'set PDS_REPLICA_URL to one replica, or to HAProxy in front of several',
};

/** Parses a whole number in plain decimal digits within bounds; undefined otherwise. */
export function integer(value: string, min: number, max: number): number | undefined {
  if (!/^\d{1,15}$/.test(value)) return undefined;
  const number = Number(value);
  return number >= min && number <= max ? number : undefined;
}

type DatabaseConfig =
  { readonly engine: 'sqlite'; readonly path: string } | { readonly engine: 'postgres'; readonly url: string };

function parseDatabaseUrl(value: string): DatabaseConfig | undefined {
  // To SQLite, a path that begins with a colon is not a file, such as ":memory:".
  const path = /^sqlite:(?:\/\/(?=\/))?([^:].*)$/.exec(value)?.[1];
  if (path !== undefined) return { engine: 'sqlite', path };
  return isPostgresUrl(value) ? { engine: 'postgres', url: value } : undefined;
}

/**
 * Whether the URL is unambiguous about TLS: full verification or no encryption. Any `sslmode` in between has two
 * meanings: in libpq `require` verifies nothing, while in the library used here it means `verify-full`.
 */
function hasPlainTls(url: URL): boolean {
  const modes = url.searchParams.getAll('sslmode');
  return modes.every((mode) => mode === 'verify-full' || mode === 'disable') && !url.searchParams.has('ssl');
}

/** Null for an empty value. */
function parseUrl(value: string, isValid: (url: string) => boolean): string | null | undefined {
  if (value === '') return null;
  return isValid(value) ? value : undefined;
}

function isPostgresUrl(value: string): boolean {
  return isUrlOf(/^postgres(ql)?:$/, value) && hasPlainTls(new URL(value));
}

function isUrlOf(protocol: RegExp, value: string): boolean {
  return URL.canParse(value) && value.includes('://') && protocol.test(new URL(value).protocol);
}

/** Parses a URL that is nothing but an origin: the service must be at the root of a host. */
function parseOrigin(value: string): string | undefined {
  if (!isUrlOf(/^https?:$/, value)) return undefined;
  const { origin, href } = new URL(value);
  return href === `${origin}/` && !/[?#]/.test(value) ? origin : undefined;
}

function isRedisUrl(value: string): boolean {
  if (!isUrlOf(/^(rediss?|redis\+sentinel):$/, value)) return false;
  const { protocol, hostname, username, password, pathname, search, hash } = new URL(value);
  const path = protocol === 'redis+sentinel:' ? /^\/[\w.-]+(\/\d{0,5})?$/ : /^(\/\d{0,5})?$/;
  // An unused parameter would be a silently ignored setting.
  const hasNoMore = path.test(pathname) && search === '' && hash === '';
  return hostname !== '' && hasNoMore && isDecodable(username) && isDecodable(password);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function parseNetworks(value: string): string[] | undefined {
  const networks = value.split(',').map((network) => network.trim());
  if (value.trim() === '') return [];
  return networks.every(isNetwork) ? networks : undefined;
}

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  if (prefix === undefined) return true;
  return integer(prefix, 0, version === 4 ? 32 : 128) !== undefined;
}

/** How log entries are written: as JSON, for people, or for people if stdout is a terminal. */
export const LOG_FORMATS = ['auto', 'json', 'pretty'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

import { BlockList, isIP } from 'node:net';

export type Environment = 'dev' | 'uat' | 'production';

export type DatabaseConfig =
  { readonly engine: 'sqlite'; readonly path: string } | { readonly engine: 'postgres'; readonly url: string };

/** All external settings. Read once, validated once, and passed to the code that needs them. */
export interface Config {
  readonly environment: Environment;
  readonly database: DatabaseConfig;
  /** PostgreSQL read replicas; empty for SQLite. */
  readonly replicaUrls: readonly string[];
  /** Redis in which all processes count requests together; null if each counts on its own. */
  readonly redisUrl: string | null;
  readonly host: string;
  readonly port: number;
  /** The public origin of the service, for the OpenAPI document; null if not configured. */
  readonly publicUrl: string | null;
  /** Host of the admin server: `/livez`, `/readyz` and `/metrics`. Not for partners. */
  readonly adminHost: string;
  readonly adminPort: number;
  /** Default requests per minute for partners without a limit of their own. */
  readonly requestsPerMinute: number;
  /** Addresses or networks of proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[];
  readonly logLevel: string;
  /** How long each day's usage counts are stored. */
  readonly usageRetentionDays: number;
  /** How long the audit trail is stored. */
  readonly auditRetentionDays: number;
}

/** The environment variables are invalid. */
export class ConfigError extends Error {
  override name = 'ConfigError';
  /** All problems, one sentence each; the message has one line per problem. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

interface Variable {
  default: string;
  accepts: string;
  /** Parses the value; undefined if it is invalid. */
  parse(value: string): unknown;
}

const VARIABLES = {
  PDS_ENVIRONMENT: {
    default: 'dev',
    accepts: 'one of dev, uat, production',
    parse: (value) => oneOf(['dev', 'uat', 'production'], value),
  },
  PDS_DATABASE_URL: {
    default: 'sqlite:data/pds.sqlite',
    accepts: 'sqlite:PATH of a file, or postgres://…, with sslmode=verify-full or disable where it names one',
    parse: parseDatabaseUrl,
  },
  PDS_REPLICA_URLS: {
    default: '',
    accepts:
      'postgres://… of replicas, comma-separated, with sslmode=verify-full or disable where they name one, beside a ' +
      'PDS_DATABASE_URL that is postgres://… too',
    parse: parseReplicaUrls,
  },
  PDS_REDIS_URL: {
    default: '',
    accepts: 'redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE] or rediss://… (TLS), special characters percent-encoded',
    parse: (value) => (value === '' ? null : isRedisUrl(value) ? value : undefined),
  },
  PDS_HOST: { default: '127.0.0.1', accepts: 'a host name or an address', parse: (value) => value.trim() || undefined },
  PDS_PORT: { default: '8080', accepts: 'a whole number from 0 to 65535', parse: (value) => integer(value, 0, 65_535) },
  PDS_PUBLIC_URL: {
    default: '',
    accepts: 'https://HOST[:PORT] or http://HOST[:PORT], without a path',
    parse: (value) => (value === '' ? null : parseOrigin(value)),
  },
  PDS_ADMIN_HOST: {
    default: '127.0.0.1',
    accepts: 'a host name or an address',
    parse: (value) => value.trim() || undefined,
  },
  PDS_ADMIN_PORT: {
    default: '8081',
    accepts: 'a whole number from 0 to 65535',
    parse: (value) => integer(value, 0, 65_535),
  },
  PDS_REQUESTS_PER_MINUTE: {
    default: '600',
    accepts: 'a whole number from 1 to 1000000',
    parse: (value) => integer(value, 1, 1_000_000),
  },
  PDS_TRUSTED_PROXIES: {
    default: '',
    accepts: 'addresses or networks, comma-separated (10.0.0.1,10.1.0.0/16)',
    parse: parseNetworks,
  },
  PDS_LOG_LEVEL: {
    default: 'info',
    accepts: `one of ${LOG_LEVELS.join(', ')}`,
    parse: (value) => oneOf(LOG_LEVELS, value),
  },
  PDS_USAGE_RETENTION_DAYS: {
    default: '400',
    accepts: 'a whole number from 1 to 36500',
    parse: (value) => integer(value, 1, 36_500),
  },
  PDS_AUDIT_RETENTION_DAYS: {
    default: '1830',
    accepts: 'a whole number from 1 to 36500',
    parse: (value) => integer(value, 1, 36_500),
  },
} satisfies Record<string, Variable>;

/**
 * Reads the `PDS_…` variables. An unknown one is an error: a misspelled setting that is silently ignored would only be
 * discovered in production.
 *
 * @throws ConfigError with all problems at once. Values are not repeated, because one can contain a password.
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = [];
  const read = (name: keyof typeof VARIABLES): unknown => {
    const variable: Variable = VARIABLES[name];
    const parsed = variable.parse(environment[name] ?? variable.default);
    if (parsed === undefined) problems.push(`${name} must be ${variable.accepts}`);
    return parsed;
  };
  const config = {
    environment: read('PDS_ENVIRONMENT'),
    database: read('PDS_DATABASE_URL'),
    replicaUrls: read('PDS_REPLICA_URLS'),
    redisUrl: read('PDS_REDIS_URL'),
    host: read('PDS_HOST'),
    port: read('PDS_PORT'),
    publicUrl: read('PDS_PUBLIC_URL'),
    adminHost: read('PDS_ADMIN_HOST'),
    adminPort: read('PDS_ADMIN_PORT'),
    requestsPerMinute: read('PDS_REQUESTS_PER_MINUTE'),
    trustedProxies: read('PDS_TRUSTED_PROXIES'),
    logLevel: read('PDS_LOG_LEVEL'),
    usageRetentionDays: read('PDS_USAGE_RETENTION_DAYS'),
    auditRetentionDays: read('PDS_AUDIT_RETENTION_DAYS'),
  } as Config;
  if (problems.length === 0 && config.replicaUrls.length > 0 && config.database.engine === 'sqlite') {
    problems.push(`PDS_REPLICA_URLS must be ${VARIABLES.PDS_REPLICA_URLS.accepts}`);
  }
  for (const name of Object.keys(environment)) {
    if (name.startsWith('PDS_') && !Object.hasOwn(VARIABLES, name)) {
      problems.push(`${name} is not a setting of this version; the settings are ${Object.keys(VARIABLES).join(', ')}`);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(config);
}

function oneOf<T extends string>(values: readonly T[], value: string): T | undefined {
  return values.find((known) => known === value);
}

/** Parses a whole number in plain decimal digits within bounds; undefined otherwise. */
export function integer(value: string, least: number, most: number): number | undefined {
  if (!/^\d{1,15}$/.test(value)) return undefined;
  const number = Number(value);
  return number >= least && number <= most ? number : undefined;
}

function parseDatabaseUrl(value: string): DatabaseConfig | undefined {
  // To SQLite, a path that begins with a colon is not a file, such as ":memory:".
  const path = /^sqlite:(?:\/\/(?=\/))?([^:].*)$/.exec(value)?.[1];
  if (path !== undefined) return { engine: 'sqlite', path };
  return isPostgresUrl(value) ? { engine: 'postgres', url: value } : undefined;
}

function parseReplicaUrls(value: string): string[] | undefined {
  if (value.trim() === '') return [];
  const urls = value.split(',').map((url) => url.trim());
  return urls.every(isPostgresUrl) ? urls : undefined;
}

/**
 * Whether the URL is unambiguous about TLS: full verification or no encryption. Any `sslmode` in between has two
 * meanings: in libpq `require` verifies nothing, while in the library used here it means `verify-full`.
 */
function hasPlainTls(url: URL): boolean {
  const modes = url.searchParams.getAll('sslmode');
  return modes.every((mode) => mode === 'verify-full' || mode === 'disable') && !url.searchParams.has('ssl');
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
  if (!isUrlOf(/^rediss?:$/, value)) return false;
  const { hostname, username, password, pathname, search, hash } = new URL(value);
  // An unused parameter would be a silently ignored setting.
  const hasNoMore = /^(\/\d{0,5})?$/.test(pathname) && search === '' && hash === '';
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
  const bits = integer(prefix, 0, version === 4 ? 32 : 128);
  if (bits === undefined) return false;
  new BlockList().addSubnet(address, bits, version === 4 ? 'ipv4' : 'ipv6');
  return true;
}

import { OperatorError } from './operator-error.ts';
import { SETTINGS, type Setting } from './settings.ts';

/** The settings by their names in the code. `settings.ts` describes them. */
const VARIABLES = {
  environment: 'PDS_ENVIRONMENT',
  database: 'PDS_DATABASE_URL',
  replicaUrls: 'PDS_REPLICA_URLS',
  redisUrl: 'PDS_REDIS_URL',
  host: 'PDS_HOST',
  port: 'PDS_PORT',
  reusePort: 'PDS_REUSE_PORT',
  publicUrl: 'PDS_PUBLIC_URL',
  adminHost: 'PDS_ADMIN_HOST',
  adminPort: 'PDS_ADMIN_PORT',
  requestsPerMinute: 'PDS_REQUESTS_PER_MINUTE',
  trustedProxies: 'PDS_TRUSTED_PROXIES',
  logLevel: 'PDS_LOG_LEVEL',
  usageRetentionDays: 'PDS_USAGE_RETENTION_DAYS',
  auditRetentionDays: 'PDS_AUDIT_RETENTION_DAYS',
  removalsDays: 'PDS_REMOVALS_DAYS',
} as const satisfies Record<string, keyof typeof SETTINGS>;

type ValueOf<Name extends keyof typeof SETTINGS> = Exclude<ReturnType<(typeof SETTINGS)[Name]['parse']>, undefined>;

/** All external settings. Read once, validated once, and passed to the code that needs them. */
export type Config = { readonly [Name in keyof typeof VARIABLES]: ValueOf<(typeof VARIABLES)[Name]> };

export type Environment = Config['environment'];

export type DatabaseConfig = Config['database'];

/** Settings are invalid. */
export class ConfigError extends OperatorError {
  override name = 'ConfigError';
  /** All problems, one sentence each; the message has one line per problem. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** The origin of a setting's value. */
export type Origin =
  | { readonly from: 'default' | 'environment' | 'option' }
  | { readonly from: 'file'; readonly file: string; readonly line: number };

/** Completes `It is set …`. */
export function describeOrigin(origin: Origin): string {
  if (origin.from === 'file') return `in ${origin.file}:${origin.line}`;
  return { default: 'by default', environment: 'in the environment', option: 'by an option' }[origin.from];
}

/** Returns where the value of a variable is from. */
export type OriginOf = (name: string) => Origin;

/** A setting in force, valid or not. */
export interface FoundSetting {
  readonly name: string;
  /** The text of the variable, or the default. Can contain a password. */
  readonly text: string;
  /** The parsed value; undefined if it is invalid. */
  readonly value: unknown;
  readonly origin: Origin;
  /** The error, without the name: `must be …`; null if the value is valid. Never contains the value. */
  readonly problem: string | null;
}

type Variables = Readonly<Record<string, string | undefined>>;

const fromEnvironment: OriginOf = () => ({ from: 'environment' });

/**
 * All settings, in the order of `SETTINGS`, and then each unknown `PDS_…` variable with its problem: a misspelled
 * setting that is silently ignored would only be discovered in production.
 */
export function findSettings(variables: Variables, originOf: OriginOf = fromEnvironment): FoundSetting[] {
  const known = Object.entries<Setting>(SETTINGS).map(([name, setting]): FoundSetting => {
    const set = variables[name];
    const text = set ?? setting.default;
    const value = setting.parse(text);
    const isWrong = value === undefined || (name === 'PDS_REPLICA_URLS' && text.trim() !== '' && isSqlite(variables));
    return {
      name,
      text,
      value,
      origin: set === undefined ? { from: 'default' } : originOf(name),
      problem: isWrong ? `must be ${setting.accepts}` : null,
    };
  });
  const unknown = Object.entries(variables).flatMap(([name, text]): FoundSetting[] => {
    if (!name.startsWith('PDS_') || Object.hasOwn(SETTINGS, name) || text === undefined) return [];
    const problem = `is not a known setting. Accepted: ${Object.keys(SETTINGS).join(', ')}`;
    return [{ name, text, value: undefined, origin: originOf(name), problem }];
  });
  return [...known, ...unknown];
}

/** Only a primary on PostgreSQL has replicas. */
function isSqlite({ PDS_DATABASE_URL: url = SETTINGS.PDS_DATABASE_URL.default }: Variables): boolean {
  return url.startsWith('sqlite:');
}

/**
 * @throws ConfigError with all problems at once, each with its origin. Values are not repeated, because one can contain
 *   a password.
 */
export function readConfig(variables: Variables, originOf: OriginOf = fromEnvironment): Config {
  const settings = findSettings(variables, originOf);
  const problems = settings.flatMap(({ name, problem, origin }) =>
    problem === null ? [] : [`${name} ${problem}. It is set ${describeOrigin(origin)}`],
  );
  if (problems.length > 0) throw new ConfigError(problems);
  const values = new Map<string, unknown>(settings.map(({ name, value }) => [name, value]));
  const config = Object.entries(VARIABLES).map(([name, variable]) => [name, values.get(variable)]);
  return Object.freeze(Object.fromEntries(config)) as Config;
}

import { readFileSync } from 'node:fs';
import { OperatorError } from './operator-error.ts';
import { REMOVED_SETTINGS, SETTINGS, type Setting } from './settings.ts';

/** The settings by their names in the code. `settings.ts` describes them. */
export const VARIABLES = {
  environment: 'PDS_ENVIRONMENT',
  database: 'PDS_DATABASE_URL',
  replicaUrl: 'PDS_REPLICA_URL',
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
  keepReleases: 'PDS_KEEP_RELEASES',
} as const satisfies Record<string, keyof typeof SETTINGS>;

type ValueOf<Name extends keyof typeof SETTINGS> = Exclude<ReturnType<(typeof SETTINGS)[Name]['parse']>, undefined>;

/** All external settings. Read once, validated once, and passed to the code that needs them. */
export type Config = { readonly [Name in keyof typeof VARIABLES]: ValueOf<(typeof VARIABLES)[Name]> };

export type Environment = Config['environment'];

export type DatabaseConfig = Config['database'];

export class ConfigError extends OperatorError {
  /** All problems, one sentence each; the message has one line per problem. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** The origin of a setting's value: `file` is the one that `--config` or the variable `…_FILE` names. */
type Origin =
  { readonly from: 'default' | 'environment' | 'option' } | { readonly from: 'file'; readonly file: string };

/** Completes `It is set …`. */
function describeOrigin(origin: Origin): string {
  if (origin.from === 'file') return `in ${origin.file}`;
  return { default: 'by default', environment: 'in the environment', option: 'by an option' }[origin.from];
}

export type OriginOf = (name: string) => Origin;

/** A setting in force, valid or not. */
export interface FoundSetting {
  /** Of the variable: `…_FILE` if that one is wrong. */
  readonly name: string;
  /** The text of the variable or of its file, or the default. Can contain a password. */
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
  const known = Object.entries<Setting>(SETTINGS).map(([name, setting]) =>
    findSetting(name, setting, variables, originOf),
  );
  // Only a primary on PostgreSQL has replicas.
  const isSqlite = known.some(({ name, text }) => name === 'PDS_DATABASE_URL' && text.startsWith('sqlite:'));
  const problem = `must be ${SETTINGS.PDS_REPLICA_URL.accepts}`;
  const checked = known.map((setting) =>
    isSqlite && setting.name === 'PDS_REPLICA_URL' && setting.text !== '' ? { ...setting, problem } : setting,
  );
  const unknown = Object.entries(variables).flatMap(([name, text]): FoundSetting[] => {
    if (!name.startsWith('PDS_') || isKnown(name) || text === undefined) return [];
    return [{ name, text, value: undefined, origin: originOf(name), problem: problemOfUnknown(name) }];
  });
  return [...checked, ...unknown];
}

const FILE = '_FILE';

/** The value of the variable, or of the file that the variable `…_FILE` names. */
function findSetting(name: string, setting: Setting, variables: Variables, originOf: OriginOf): FoundSetting {
  const found = (text: string, origin: Origin): FoundSetting => {
    const value = setting.parse(text);
    return { name, text, value, origin, problem: value === undefined ? `must be ${setting.accepts}` : null };
  };
  const text = variables[name];
  const fileVariable = name + FILE;
  const file = setting.isSecret === true ? variables[fileVariable] : undefined;
  if (file === undefined || file === '') {
    return text === undefined ? found(setting.default, { from: 'default' }) : found(text, originOf(name));
  }
  const refused = (problem: string): FoundSetting => ({
    name: fileVariable,
    text: file,
    value: undefined,
    origin: originOf(fileVariable),
    problem,
  });
  // An empty variable does not count: a container can override the URL of the image, but not unset it.
  if (text !== undefined && text !== '') return refused(`is set together with ${name}. Set only one of the two`);
  try {
    const contents = readFileSync(file, 'utf8').replace(/\n$/, '');
    return contents === '' ? refused(`names ${file}, which is empty`) : found(contents, { from: 'file', file });
  } catch (error) {
    // A URL in place of its file would be shown with its password.
    if (file.includes('://')) return refused('must be the path of a file that contains the URL');
    const { code = '' } = error as NodeJS.ErrnoException;
    return refused(`names ${file}, which cannot be read (${code})`);
  }
}

function isKnown(variable: string): boolean {
  return Object.entries<Setting>(SETTINGS).some(
    ([name, { isSecret }]) => variable === name || (isSecret === true && variable === name + FILE),
  );
}

function problemOfUnknown(name: string): string {
  const replacement = Object.hasOwn(REMOVED_SETTINGS, name) ? REMOVED_SETTINGS[name] : undefined;
  return replacement === undefined
    ? `is not a known setting. Accepted: ${Object.keys(SETTINGS).join(', ')}`
    : `was removed in version 2.0: ${replacement}`;
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

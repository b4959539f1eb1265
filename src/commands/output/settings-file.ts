import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { ConfigError, VARIABLES, type Config, type OriginOf } from '../../config.ts';

/** The environment variable that records which variables are from the file, as a `LoadedFile`. */
const RECORD = '_PDS_SETTINGS_FILE';

interface LoadedFile {
  readonly file: string;
  /** The variables in force that the file set. */
  readonly names: readonly string[];
}

/**
 * Reads the file that `--config` names into the environment of this process, as `process.loadEnvFile` does: a variable
 * that is set keeps its value.
 *
 * @throws ConfigError if the file cannot be read or parsed; the environment is unchanged.
 */
export function loadSettings(config: string | undefined): void {
  Reflect.deleteProperty(process.env, RECORD);
  if (config === undefined) {
    refuseUnnamedFile();
    return;
  }
  const file = resolve(config);
  const variables = [...readSettingsFile(file)].filter(([name]) => process.env[name] === undefined);
  for (const [name, value] of variables) process.env[name] = value;
  const loaded: LoadedFile = { file, names: variables.map(([name]) => name) };
  process.env[RECORD] = JSON.stringify(loaded);
}

/** Settings given as options of a command. */
export type SettingOptions = { readonly [Name in keyof Config]?: string | number | boolean };

/** The variables of this process, overridden by the options of its command, and where each is from. */
export function variablesOfProcess(options: SettingOptions = {}): [NodeJS.ProcessEnv, OriginOf] {
  const given: Record<string, string> = {};
  for (const [name, variable] of Object.entries(VARIABLES)) {
    const value = options[name as keyof Config];
    if (value !== undefined) given[variable] = String(value);
  }
  const loaded = loadedFile();
  const originOf: OriginOf = (name) => {
    if (Object.hasOwn(given, name)) return { from: 'option' };
    return loaded?.names.includes(name) === true ? { from: 'file', file: loaded.file } : { from: 'environment' };
  };
  return [{ ...process.env, ...given }, originOf];
}

/** The settings file that this process has read; null if there is none. */
export function loadedFile(): LoadedFile | null {
  const record = process.env[RECORD];
  return record === undefined ? null : (JSON.parse(record) as LoadedFile);
}

/**
 * Versions before 2.0 read `.env` in the working directory. An import that silently ignored it could write to another
 * database. A file whose variables are all set, by another program that reads it, is no concern.
 */
function refuseUnnamedFile(): void {
  let names: string[];
  try {
    if (!statSync('.env').isFile()) return;
    names = Object.keys(parseEnv(readFileSync('.env', 'utf8')));
  } catch {
    // There is none, or none that this user could have used.
    return;
  }
  if (names.every((name) => !name.startsWith('PDS_') || process.env[name] !== undefined)) return;
  throw new ConfigError([
    'since version 2.0, .env is not read unless it is named: --config .env. To run without it: --config /dev/null',
  ]);
}

const EXPECTED =
  "expected NAME=VALUE without spaces around =, or NAME='VALUE' if the value has a # or quotes; an empty line; or a " +
  'comment on its own line, after #';

/**
 * The variables of a settings file.
 *
 * @throws ConfigError with the number of each line that cannot be read, and never its text, which can hold a password.
 */
export function readSettingsFile(file: string): Map<string, string> {
  const variables = new Map<string, string>();
  const problems: string[] = [];
  for (const [index, line] of readText(file).split(/\r?\n/).entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue;
    const [name, value] = parseLine(line.trim());
    if (name === null) problems.push(`${file}:${index + 1}: ${EXPECTED}`);
    else if (variables.has(name)) problems.push(`${file}:${index + 1}: ${name} was set above. Remove one of the two`);
    else variables.set(name, value);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return variables;
}

/** The variable of a line, if Node's parser reads all of it: it drops what it cannot read, and all after a `#`. */
function parseLine(line: string): [name: string, value: string] | [null] {
  const [name = '', value = ''] = Object.entries(parseEnv(line))[0] ?? [];
  const isPlain = line === `${name}=${value}` && !/^['"`]/.test(value);
  const isWhole = isPlain || line === `${name}='${value}'` || line === `${name}="${value}"`;
  return isWhole && /^[A-Za-z_]\w*$/.test(name) ? [name, value] : [null];
}

function readText(file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    throw new ConfigError([
      `the settings file ${file} cannot be read: ${(error as Error).message}. Correct --config, or the permissions of the file`,
    ]);
  }
}

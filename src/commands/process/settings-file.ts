import cluster from 'node:cluster';
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigError, type Origin, type OriginOf } from '../../config.ts';
import { parseSettingsFile, type FileVariable } from './settings-syntax.ts';

/** The file that is read without `--config`, in the working directory. */
const DEFAULT_FILE = '.env';

/**
 * The environment variable that records which variables are from the file, as a `LoadedFile`. Workers inherit it with
 * the variables: a file that has changed since the start, or a pipe, must not give them other settings.
 */
const RECORD = '_PDS_SETTINGS_FILE';

/** A settings file that was read. */
interface LoadedFile {
  readonly file: string;
  /** The line of each variable that is in force. */
  readonly lines: Readonly<Record<string, number>>;
}

/**
 * Reads the settings file into the environment of this process, as `process.loadEnvFile` does: a variable that is set
 * keeps its value.
 *
 * @param given the file named by `--config`; otherwise `.env` in the working directory, if there is one.
 * @throws ConfigError if the file cannot be read or parsed; the environment is unchanged.
 */
export function loadSettingsFile(given: string | undefined): void {
  if (cluster.isWorker) return;
  Reflect.deleteProperty(process.env, RECORD);
  if (given === undefined && !isFile(DEFAULT_FILE)) return;
  const file = resolve(given ?? DEFAULT_FILE);
  const lines: Record<string, number> = {};
  for (const { name, value, line } of readSettingsFile(file)) {
    if (process.env[name] !== undefined) continue;
    process.env[name] = value;
    lines[name] = line;
  }
  const loaded: LoadedFile = { file, lines };
  process.env[RECORD] = JSON.stringify(loaded);
}

/**
 * Reads the variables of a settings file that are ours.
 *
 * @throws ConfigError if the file cannot be read or parsed.
 */
export function readSettingsFile(file: string): FileVariable[] {
  const { variables, problems } = parseSettingsFile(readContents(file));
  if (problems.length > 0) throw new ConfigError(problems.map(({ line, problem }) => `${file}:${line}: ${problem}`));
  return variables;
}

/** Settings given as options of a command, by the names of their variables. */
export type SettingOptions = Readonly<Record<string, string | undefined>>;

/** The variables of this process, overridden by the options of its command, and where each is from. */
export function variablesOfProcess(options: SettingOptions = {}): [SettingOptions, OriginOf] {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const originOf: OriginOf = (name) => (Object.hasOwn(given, name) ? { from: 'option' } : originOfVariable(name));
  return [{ ...process.env, ...given }, originOf];
}

/** The origin of a variable of this process. */
export function originOfVariable(name: string): Origin {
  const loaded = loadedFile();
  const line = loaded?.lines[name];
  return loaded === null || line === undefined ? { from: 'environment' } : { from: 'file', file: loaded.file, line };
}

/** The settings file that this process has read; null if there is none. */
export function loadedFile(): LoadedFile | null {
  const record = process.env[RECORD];
  return record === undefined ? null : (JSON.parse(record) as LoadedFile);
}

/** False also for a folder, such as a virtual environment of Python, and in a working directory without access. */
function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function readContents(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new ConfigError([
      `the settings file ${file} cannot be read: ${error.message}. Correct --config, or the permissions of the file`,
    ]);
  }
}

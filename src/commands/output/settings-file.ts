import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigError, type Origin, type OriginOf } from '../../config.ts';
import { isUtf8 } from 'node:buffer';
import { parseEnv } from 'node:util';

const DEFAULT_FILE = '.env';

/** The environment variable that records which variables are from the file, as a `LoadedFile`. */
const RECORD = '_PDS_SETTINGS_FILE';

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
 * @throws ConfigError if the file cannot be read or parsed, or was found and others could have written it; the
 *   environment is unchanged.
 */
export function loadSettingsFile(given: string | undefined): void {
  Reflect.deleteProperty(process.env, RECORD);
  if (given === undefined && !isFile(DEFAULT_FILE)) return;
  const file = resolve(given ?? DEFAULT_FILE);
  const variables = given === undefined ? parseContents(file, readFoundFile(file)) : readSettingsFile(file);
  const lines: Record<string, number> = {};
  for (const { name, value, line } of variables) {
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
  return parseContents(
    file,
    reading(file, () => readFileSync(file)),
  );
}

function parseContents(file: string, contents: Buffer): FileVariable[] {
  const { variables, problems } = parseSettingsFile(contents);
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

const OTHERS_CAN_WRITE = 0o022;

/**
 * Reads a file that nobody named. Its writer chooses the server that a password of this user in `PGPASSWORD` or
 * `~/.pgpass` is sent to, so only this user or root can be its writer. The opened file is checked, not its path, and no
 * link is followed: a stranger's link can lead to a file of root's with the stranger's words, `/proc/PID/cmdline`. So
 * the folder needs no check: those who can write to it can only put a file of this user or root there.
 */
function readFoundFile(file: string): Buffer {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const descriptor = reading(file, () => openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  try {
    const { uid, mode } = fstatSync(descriptor);
    // Undefined on Windows, where files have neither.
    const user = process.geteuid?.();
    if (user !== undefined && uid !== user && uid !== 0) throw untrusted(file, `belongs to another user (${uid})`);
    if (user !== undefined && (mode & OTHERS_CAN_WRITE) !== 0) throw untrusted(file, 'can be written by other users');
    return reading(file, () => readFileSync(descriptor));
  } finally {
    closeSync(descriptor);
  }
}

function reading<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if ((error as NodeJS.ErrnoException).code === 'ELOOP') throw untrusted(file, 'is a symbolic link');
    throw new ConfigError([
      `the settings file ${file} cannot be read: ${error.message}. Correct --config, or the permissions of the file`,
    ]);
  }
}

function untrusted(file: string, problem: string): ConfigError {
  return new ConfigError([
    `the settings file ${file} ${problem}, so it was not read. If you trust it, name it: --config ${file}. ` +
      'To run without it: --config /dev/null',
  ]);
}

/** A variable of a settings file. */
export interface FileVariable {
  readonly name: string;
  readonly value: string;
  /** Counted from 1. */
  readonly line: number;
}

/** A line that cannot be read. */
export interface FileProblem {
  readonly line: number;
  /** Never contains the line, which can hold a password. */
  readonly problem: string;
}

/** An empty line, a comment, or an assignment. A value in quotes can have several lines. */
const ENTRY =
  /[ \t]*(?:#[^\n]*|(?<assignment>(?:export[ \t]+)?(?<name>[A-Za-z_][\w.-]*)[ \t]*=[ \t]*(?:'[^']*'|"[^"]*"|`[^`]*`|(?![ \t]*['"`]))[^\n]*))?(?:\n|$)/y;

const OURS = /^(?:PDS|OTEL)_/;

/** Assignments that sh, systemd, Compose and Node read alike; they differ on `#`, `$`, `\` and unquoted spaces. */
const PORTABLE = /^[\w.-]+=(?:[\w./:,@%+=?*[\]-]*|'[^'\p{Cc}]*'|"[^"$\\`\p{Cc}]*")[ \t]*$/u;

const NO_ENTRY = 'expected NAME=VALUE with every quote closed, an empty line, or a comment that starts with #';
const NOT_PORTABLE =
  'write NAME=\'VALUE\' in single quotes, without "export", without spaces around = and with nothing after it: programs ' +
  'differ in how they read the rest. A comment needs its own line, and a URL can have %27 for a single quote';

/**
 * Parses a file of `NAME=VALUE` lines, and returns the variables of the service and of OpenTelemetry. Other variables
 * are those of other programs, in the looser syntax that these read, and are skipped.
 *
 * Node's parser reads one checked assignment at a time: of a whole file, it drops lines that it cannot read, cuts
 * unquoted values at a `#`, and takes the next line for a value of spaces.
 */
export function parseSettingsFile(contents: Buffer): { variables: FileVariable[]; problems: FileProblem[] } {
  const text = contents
    .toString()
    .replace(/^\uFEFF/, '')
    .replaceAll('\r\n', '\n');
  const lineAt = (index: number): number => text.slice(0, index).split('\n').length;
  if (!isUtf8(contents)) {
    return { variables: [], problems: [{ line: lineAt(text.indexOf('\uFFFD')), problem: 'it is not UTF-8 text' }] };
  }
  const variables = new Map<string, FileVariable>();
  const problems: FileProblem[] = [];
  for (let at = 0, line = 1, entry = ''; at < text.length; at += entry.length, line += entry.split('\n').length - 1) {
    const report = (problem: string): void => void problems.push({ line, problem });
    ENTRY.lastIndex = at;
    const match = ENTRY.exec(text);
    entry = match?.[0] ?? text.slice(at, text.indexOf('\n', at) + 1 || text.length);
    const { name = '', assignment = '' } = match?.groups ?? {};
    const earlier = variables.get(name);
    if (match === null) report(NO_ENTRY);
    else if (!OURS.test(name)) continue;
    else if (!PORTABLE.test(assignment)) report(`${name}: ${NOT_PORTABLE}`);
    else if (earlier !== undefined) report(`${name} is already set in line ${earlier.line}. Remove one of the two`);
    else variables.set(name, { name, value: parseEnv(assignment)[name] ?? '', line });
  }
  return { variables: [...variables.values()], problems };
}

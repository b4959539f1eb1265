import { isUtf8 } from 'node:buffer';
import { parseEnv } from 'node:util';

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

/** Variables of the service, and of OpenTelemetry. */
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

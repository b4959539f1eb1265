import { isUtf8 } from 'node:buffer';

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

/** Variables of the service, and of OpenTelemetry. */
const OURS = /^(?:PDS|OTEL)_/;

const BLANK = /^\s*(?:#.*)?$/s;
const ASSIGNMENT = /^[ \t]*(?<exported>export[ \t]+)?(?<name>[A-Za-z_][\w.-]*)(?<gap>[ \t]*)=(?<written>.*)$/s;

/** Values that sh, systemd, Compose and Node read alike; they differ on `#`, `$`, `\` and unquoted spaces. */
const PLAIN = /^(?<value>[\w./:,@%+=?*[\]-]*)$/;
const IN_SINGLE_QUOTES = /^'(?<value>[^'\p{Cc}]*)'$/u;
const IN_DOUBLE_QUOTES = /^"(?<value>[^"$\\`\p{Cc}]*)"$/u;

const NO_ASSIGNMENT = 'expected NAME=VALUE, an empty line, or a comment that starts with #';
const NO_PLAIN_VALUE =
  "write its value in single quotes, as NAME='VALUE', with nothing after it on the line: programs differ in how they " +
  'read spaces, quotes and special characters. A comment needs its own line, and a URL can have %27 for a single quote';

/**
 * Parses a file of `NAME=VALUE` lines, and returns the variables of the service and of OpenTelemetry. Other variables
 * are those of other programs, in the looser syntax that these read, and are skipped.
 *
 * Node's own parser is not used: it drops a line that it cannot read, and cuts an unquoted value at a `#`.
 */
export function parseSettingsFile(contents: Buffer): { variables: FileVariable[]; problems: FileProblem[] } {
  const variables = new Map<string, FileVariable>();
  const problems: FileProblem[] = [];
  const lines = contents
    .toString()
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/);
  const firstBad = isUtf8(contents) ? -1 : lines.findIndex((text) => text.includes('\uFFFD'));
  if (firstBad >= 0) return { variables: [], problems: [{ line: firstBad + 1, problem: 'it is not UTF-8 text' }] };
  for (let at = 0; at < lines.length; at += 1) {
    const text = lines[at] ?? '';
    const line = at + 1;
    const report = (problem: string): void => void problems.push({ line, problem });
    if (BLANK.test(text)) continue;
    const { exported, name = '', gap, written = '' } = ASSIGNMENT.exec(text)?.groups ?? {};
    if (name === '') {
      report(NO_ASSIGNMENT);
    } else if (!OURS.test(name)) {
      at = lastLineOf(lines, at, written);
      if (at === lines.length) report(`the quote that begins the value of ${name} is not closed`);
    } else {
      const match = [PLAIN, IN_SINGLE_QUOTES, IN_DOUBLE_QUOTES]
        .map((form) => form.exec(written.replace(/[ \t]+$/, '')))
        .find((each) => each !== null);
      const value = match?.groups?.['value'];
      const earlier = variables.get(name);
      if (exported !== undefined) report(`${name}: remove "export", which systemd does not read`);
      else if (gap !== '') report(`${name}: remove the space before "=", which a shell does not read`);
      else if (value === undefined) report(`${name}: ${NO_PLAIN_VALUE}`);
      else if (earlier !== undefined) report(`${name} is already set in line ${earlier.line}. Remove one of the two`);
      else variables.set(name, { name, value, line });
    }
  }
  return { variables: [...variables.values()], problems };
}

/** The index of the line on which a value ends, which can be quoted; the number of lines if its quote is not closed. */
function lastLineOf(lines: readonly string[], at: number, written: string): number {
  const value = written.trimStart();
  const quote = /^["'`]/.exec(value)?.[0];
  if (quote === undefined || value.indexOf(quote, 1) > 0) return at;
  const end = lines.findIndex((text, index) => index > at && text.includes(quote));
  return end < 0 ? lines.length : end;
}

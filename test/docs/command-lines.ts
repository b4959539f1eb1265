/** One parsed command of a block. */
export interface CommandLine {
  /** Variables set before it, also by `export`. */
  readonly settings: Readonly<Record<string, string>>;
  /** The program and its arguments, without quotes; empty if the line only sets variables. */
  readonly words: readonly string[];
}

const WORD = /(?:'[^']*'|"[^"]*"|[^\s'"])+/g;

/** Parses the simple commands of a block: no loops, no here-documents. */
export function parseCommands(block: string): CommandLine[] {
  return block
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .map((line) => line.replace(/\s#\s.*$/, '').replace(/^\w+=\$\((.*)\)$/, '$1'))
    .flatMap((line) => line.split(/ (?:&&|\|\||[|;]) /))
    .map(parseLine)
    .filter(({ words, settings }) => words.length > 0 || Object.keys(settings).length > 0);
}

function parseLine(line: string): CommandLine {
  const words = (line.match(WORD) ?? []).map((word) => word.replaceAll(/['"]/g, ''));
  if (words[0] === 'export') words.shift();
  const first = words.findIndex((word) => !/^[A-Z_]+=/.test(word));
  const assignments = words.splice(0, first === -1 ? words.length : first);
  return { words, settings: Object.fromEntries(assignments.map((word) => splitOnce(word))) };
}

function splitOnce(assignment: string): [string, string] {
  const at = assignment.indexOf('=');
  return [assignment.slice(0, at), assignment.slice(at + 1)];
}

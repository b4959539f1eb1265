import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import ts from 'typescript';
import type { Mutant } from './mutant.ts';
import { MUTANTS } from './mutants.ts';

/*
 * A program: plants each fault that `mutants.ts` lists in a copy of the project, and requires that an assertion of the expected
 * tests notices it.
 *
 *   npm run mutants                     all of them
 *   npm run mutants -- draft src/index  those whose name or file contains one of these texts
 *   npm run mutants -- --ci             ten of different areas, whose expected tests are quick
 *
 * If a fault survives its expected tests, the default tests run too; with `--ci` or `--expected`, nothing else does.
 */

const ROOT = resolve(import.meta.dirname, '../..');
const EXPECTED_TESTS_MS = 5 * 60_000;
const DEFAULT_SET_MS = 15 * 60_000;

/** An assertion's error, also of expect's and of expect.poll's, or a property's. A test that failed otherwise may only be broken. */
const ASSERTION = /AssertionError|at Assertion\.|POLL_CHAIN|Property failed after/;

/** Its table has the last result of each. */
const README = join(ROOT, 'test/README.md');
const TABLE_ROW = /^\| (.*?) +\| .* \| (.*?) +\|$/gm;

const { values: options, positionals: texts } = parseArgs({
  options: { ci: { type: 'boolean', default: false }, expected: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const isSelected = ({ name, file, isInCi = false }: Mutant): boolean =>
  options.ci ? isInCi : texts.some((text) => name.includes(text) || file.includes(text));
const mutants = texts.length === 0 && !options.ci ? MUTANTS : MUTANTS.filter(isSelected);
const problems = mutants.length === 0 ? ['no mutant has this name or file'] : problemsOf(mutants);
if (problems.length > 0) {
  process.stderr.write(`${problems.join('\n')}\n`);
  process.exit(2);
}

const copy = mkdtempSync(join(tmpdir(), 'pds-mutants-'));
process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
copyProject();

const startedMs = performance.now();
let survived = 0;
const noticedBy = new Map<string, string>();
for (const mutant of mutants) {
  const { name, file, tests, test, project = 'sqlite' } = mutant;
  const beganMs = performance.now();
  const path = join(copy, file);
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, planted(text, mutant));
  const words = ['--project', project, ...tests, ...(test === undefined ? [] : ['-t', test])];
  const expected = await runTests(words, { TEST_PROGRAM: join(copy, 'src/main.js') }, EXPECTED_TESTS_MS);
  const isKilled = expected.killedBy !== null;
  const isOver = isKilled || options.ci || options.expected;
  const others = isOver ? null : await runTests([], { TEST_SET: 'default' }, DEFAULT_SET_MS);
  writeFileSync(path, text);
  if (!isKilled) survived += 1;
  noticedBy.set(name, expected.killedBy?.replace(/: .*/, '') ?? 'no test');
  const lines = [
    `${isKilled ? 'killed  ' : 'SURVIVED'} ${secondsSince(beganMs).padStart(4)} s  ${name}`,
    ...[expected, others].flatMap((run) => (run === null ? [] : `${' '.repeat(17)}${describe(run)}`)),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}
process.stdout.write(`${mutants.length - survived} killed, ${survived} survived, in ${secondsSince(startedMs)} s\n`);
process.exitCode = survived === 0 ? 0 : 1;
if (!options.ci) {
  const readme = readFileSync(README, 'utf8');
  const before = new Map(Array.from(readme.matchAll(TABLE_ROW), ([, name = '', test = '']) => [name, test]));
  const rows = MUTANTS.map(({ name, breaks }) => {
    return [name, breaks, noticedBy.get(name) ?? before.get(name) ?? 'not run yet'];
  });
  writeFileSync(README, readme.replace(/^\|[^]*\|$/m, renderTable([['Fault', 'Breaks', 'Noticed by'], ...rows])));
}

/** Why mutants cannot be planted: the original of any is gone, or one of `some` has type errors. */
function problemsOf(some: readonly Mutant[]): string[] {
  const unplantable = MUTANTS.flatMap(({ name, file, original, tests }) => {
    const missing = [file, ...tests].filter((path) => !existsSync(join(ROOT, path)));
    if (missing.length > 0) return `${name}: there is no ${missing.join(', ')}`;
    const count = readFileSync(join(ROOT, file), 'utf8').split(original).length - 1;
    return count === 1 ? [] : `${name}: ${file} contains the original ${count} times, instead of once: ${original}`;
  });
  if (unplantable.length > 0) return unplantable;
  const typed = some.filter(({ file }) => file.endsWith('.ts'));
  const typeErrorsOf = makeTypeCheck(typed);
  return typed.flatMap((mutant) => typeErrorsOf(mutant).map((error) => `${mutant.name}: ${error}`));
}

function planted(text: string, { original, replacement }: Mutant): string {
  return text.replace(original, () => replacement);
}

/** Makes a function that returns the type errors of a mutant's file. All share what was parsed. */
function makeTypeCheck(some: readonly Mutant[]): (mutant: Mutant) => string[] {
  const settings = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
    config: object;
  };
  const { options, fileNames } = ts.parseJsonConfigFileContent({ ...settings.config, include: ['src'] }, ts.sys, ROOT);
  const pathOf = ({ file }: Mutant): string => join(ROOT, file);
  let current: Mutant | null = null;
  const isCurrent = (path: string): boolean => current !== null && path === pathOf(current);
  const service = ts.createLanguageService({
    fileExists: (path) => ts.sys.fileExists(path),
    readFile: (path) => ts.sys.readFile(path),
    directoryExists: (path) => ts.sys.directoryExists(path),
    getDirectories: (path) => ts.sys.getDirectories(path),
    getCompilationSettings: () => options,
    getCurrentDirectory: () => ROOT,
    getDefaultLibFileName: (compilerOptions) => ts.getDefaultLibFilePath(compilerOptions),
    // All, since a file can add to another's interfaces.
    getScriptFileNames: () => [...new Set([...fileNames, ...some.map(pathOf)])],
    getScriptVersion: (path) => (current !== null && isCurrent(path) ? current.name : ''),
    getScriptSnapshot: (path) => {
      const text = ts.sys.readFile(path);
      if (text === undefined) return undefined;
      return ts.ScriptSnapshot.fromString(current !== null && isCurrent(path) ? planted(text, current) : text);
    },
  });
  return (mutant) => {
    current = mutant;
    const path = pathOf(mutant);
    const errors = [...service.getSyntacticDiagnostics(path), ...service.getSemanticDiagnostics(path)];
    return errors.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
  };
}

/** Copies files that git knows or does not ignore, and the built portal; links packages and the history. */
function copyProject(): void {
  // Not in the copy, since Astro does not follow links to packages.
  execFileSync(process.execPath, ['portal/build.ts', '--if-outdated'], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
  for (const file of [...new Set(listed.toString().split('\0')), 'portal/dist']) {
    if (file !== '' && existsSync(join(ROOT, file))) cpSync(join(ROOT, file), join(copy, file), { recursive: true });
  }
  mkdirSync(join(copy, 'node_modules'));
  // Links to workspaces lead to those of the copy. Vitest's caches are not shared.
  const packages = readdirSync(join(ROOT, 'node_modules')).filter((name) => !/^\.(vite|cache)/.test(name));
  for (const path of [
    '.git',
    'mcp/node_modules',
    'tools/node_modules',
    ...packages.map((name) => join('node_modules', name)),
  ]) {
    const entry = lstatSync(join(ROOT, path), { throwIfNoEntry: false });
    if (entry === undefined) continue;
    const target = entry.isSymbolicLink() ? readlinkSync(join(ROOT, path)) : join(ROOT, path);
    symlinkSync(target, join(copy, path));
  }
  // Newer than its sources, or the tests would build it.
  utimesSync(join(copy, 'portal/dist/404.html'), new Date(), new Date());
}

interface TestRun {
  /** The test whose assertion failed; null if none did. */
  readonly killedBy: string | null;
  /** All failures, in words. */
  readonly failures: readonly string[];
}

async function runTests(words: readonly string[], env: NodeJS.ProcessEnv, timeoutMs: number): Promise<TestRun> {
  const report = join(copy, 'node_modules/tests.json');
  rmSync(report, { force: true });
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--bail=1', '--reporter=json', `--outputFile=${report}`];
  const child = spawn(process.execPath, [...vitest, ...words], {
    cwd: copy,
    env: { ...process.env, ...env },
    stdio: 'ignore',
    timeout: timeoutMs,
  });
  await once(child, 'exit');
  if (!existsSync(report)) return { killedBy: null, failures: [`no result within ${timeoutMs / 1000} s`] };
  const { numPassedTests, testResults } = JSON.parse(readFileSync(report, 'utf8')) as JsonReport;
  const isFailed = testResults.some(({ status }) => status === 'failed');
  if (numPassedTests === 0 && !isFailed)
    throw new Error(`no test was run: try "npx vitest run ${words.join(' ')}" in ${ROOT}`);
  const failures = testResults.flatMap(({ name, message, assertionResults }) => {
    const file = relative(copy, name);
    const failed = assertionResults.filter(({ status }) => status === 'failed');
    if (failed.length === 0 && message !== '') return { file, reason: message, isAssertion: false };
    return failed.map(({ fullName, failureMessages }) => {
      const reason = failureMessages.join(' ');
      return { file: `${file}: ${fullName}`, reason, isAssertion: ASSERTION.test(reason) };
    });
  });
  return {
    killedBy: failures.find(({ isAssertion }) => isAssertion)?.file ?? null,
    failures: failures.map(({ file, reason }) => `${file}: ${reason.slice(0, 200)}`),
  };
}

interface JsonReport {
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

function describe({ killedBy, failures }: TestRun): string {
  return killedBy ?? (failures.length === 0 ? 'no test failed' : `no assertion failed: ${failures.join('; ')}`);
}

function secondsSince(beganMs: number): string {
  return ((performance.now() - beganMs) / 1000).toFixed(0);
}

function renderTable([heading = [], ...rest]: readonly string[][]): string {
  const widths = heading.map((_, column) => Math.max(...[heading, ...rest].map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(heading), line(widths.map((width) => '-'.repeat(width))), ...rest.map(line)].join('\n');
}

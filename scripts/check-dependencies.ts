import { problemsOf, registryDependencies, runtimePackages } from './dependency-rules.ts';
import { runNpm } from './npm.ts';
import { readDependencies } from './read-dependencies.ts';

// `npm run dependencies:check`: checks the dependencies against the rules and the registry.

const dependencies = readDependencies();
const problems = [...problemsOf(dependencies), ...vulnerabilities(), ...deprecated()];
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.stdout.write(
  problems.length === 0
    ? `${Object.keys(registryDependencies(dependencies)).length} run-time dependencies, ` +
        `${runtimePackages(dependencies.lock).length} packages including transitive ones: all rules pass.\n`
    : `${problems.length} dependency problems.\n`,
);
process.exitCode = problems.length === 0 ? 0 : 1;

/** The output of `npm audit --json`; without `vulnerabilities` if the registry did not respond. */
interface Audit {
  vulnerabilities?: Record<string, { severity: string; via: (string | { title: string; url: string })[] }>;
}

/** Known vulnerabilities, if the registry offers advisories. Mirrors often do not: then nothing is checked. */
function vulnerabilities(): string[] {
  const { stdout } = runNpm('audit', '--omit=dev', '--json');
  const { vulnerabilities: found } = (parse(stdout) as Audit | null) ?? {};
  if (found === undefined) {
    process.stdout.write('The registry offers no advisories (npm audit): known vulnerabilities were NOT checked.\n');
    return [];
  }
  return Object.entries(found).map(([name, { severity, via }]) => {
    const titles = via.map((one) => (typeof one === 'string' ? one : `${one.title} (${one.url})`));
    return `${name} has a known vulnerability (${severity}): ${titles.join(', ')}`;
  });
}

/** Run-time dependencies that were deprecated after the lock file was written. */
function deprecated(): string[] {
  const reasons = Object.entries(registryDependencies(dependencies)).map(([name, version]) => {
    const { stdout } = runNpm('view', `${name}@${version}`, 'name', 'deprecated', '--json');
    const seen = parse(stdout) as { name?: string; deprecated?: string } | string | null;
    if (seen === null || (typeof seen === 'object' && seen.name === undefined))
      return { name, isKnown: false, reason: undefined };
    return { name, isKnown: true, reason: typeof seen === 'string' ? undefined : seen.deprecated };
  });
  const unknown = reasons.filter(({ isKnown }) => !isKnown).map(({ name }) => name);
  if (unknown.length > 0) {
    process.stdout.write(`The registry did not respond for ${unknown.join(', ')}: NOT checked for deprecation.\n`);
  }
  return reasons.flatMap(({ name, reason }) => (reason === undefined ? [] : [`${name} is deprecated: ${reason}`]));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

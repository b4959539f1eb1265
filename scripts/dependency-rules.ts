import { builtinModules } from 'node:module';
import typescript from 'typescript';

/** The parts of `package.json` that the rules use. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  /** Packages with install scripts, and whether these may run. */
  readonly allowScripts: Readonly<Record<string, boolean>>;
}

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly license?: string;
  readonly deprecated?: string;
  readonly hasInstallScript?: boolean;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** `package-lock.json`: packages by installation folder, the project itself under the empty name. */
export interface Lock {
  readonly lockfileVersion: number;
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** A folder in which npm installs packages. */
export interface Installation {
  readonly manifest: Manifest;
  readonly lock: Lock;
}

export interface Dependencies extends Installation {
  /** Packages that only checks, generators and the benchmark need. */
  readonly tools: Installation;
  /** The server for assistants, which partners install. */
  readonly mcp: Installation & Pick<Dependencies, 'sources'>;
  /** The text of `docs/dependencies.md`. */
  readonly guide: string;
  /** The sources that run in production, by path, but for those of `convert/`. */
  readonly sources: Readonly<Record<string, string>>;
  /** The package in `convert/`, which `npm ci` installs as well. */
  readonly convert: Pick<Dependencies, 'manifest' | 'sources'>;
}

/** Licenses that require no more than attribution from a product that includes the service. */
const ACCEPTED_LICENSES = new Set([
  'MIT',
  'ISC',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  '0BSD',
]);

const EXACT = /^\d+\.\d+\.\d+(-[\w.-]+)?$/;

/**
 * Checks the rules.
 *
 * @returns one sentence per broken rule.
 */
export function problemsOf(dependencies: Dependencies): string[] {
  return [
    ...installationProblems(dependencies),
    ...installationProblems(dependencies.tools).map((problem) => `tools: ${problem}`),
    ...installationProblems(dependencies.mcp).map((problem) => `mcp: ${problem}`),
    ...differentVersions(dependencies),
    ...licenseProblems(dependencies),
    ...licenseProblems(dependencies.mcp),
    ...guideProblems(dependencies),
    ...useProblems(dependencies),
    ...useProblems(dependencies.convert),
    ...useProblems(dependencies.mcp),
    ...versionProblems(dependencies.convert),
    ...lockedProblems(dependencies.convert.manifest, dependencies.lock, 'convert'),
  ];
}

/** Packages installed without the development dependencies, distinct by name and version. */
export function runtimePackages({ packages }: Lock): { name: string; version: string; license: string }[] {
  const all = Object.entries(packages)
    .filter(([folder, { dev, devOptional, link }]) => isInstalled(folder) && !dev && !devOptional && !link)
    .map(([folder, { version = '', license = '' }]) => ({ name: nameOf(folder), version, license }));
  return [...new Map(all.map((installed) => [`${installed.name}@${installed.version}`, installed])).values()];
}

/** The lock file's other entries are packages of this repository. */
function isInstalled(folder: string): boolean {
  return folder.startsWith('node_modules/');
}

function installationProblems(installation: Installation): string[] {
  return [...versionProblems(installation), ...lockProblems(installation), ...scriptProblems(installation)];
}

/** Packages that are in both installations, such as the compiler, and differ. */
function differentVersions({ manifest, tools }: Dependencies): string[] {
  const versions: Readonly<Record<string, string>> = { ...manifest.dependencies, ...manifest.devDependencies };
  return Object.entries(tools.manifest.devDependencies ?? {})
    .filter(([name, version]) => versions[name] !== undefined && versions[name] !== version)
    .map(([name, version]) => `${name}: package.json has ${versions[name] ?? ''}, tools/package.json ${version}`);
}

function versionProblems({ manifest }: Pick<Installation, 'manifest'>): string[] {
  return Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
    .filter(([, version]) => !EXACT.test(version))
    .map(([name, version]) => `${name} is not pinned to an exact version: ${version}`);
}

function lockProblems({ manifest, lock }: Installation): string[] {
  const problems = lockedProblems(manifest, lock, '');
  if (lock.lockfileVersion !== 3) problems.push(`the lock file has version ${lock.lockfileVersion}; expected 3`);
  const { '': _, ...installed } = lock.packages;
  for (const [folder, { integrity, resolved, deprecated, link }] of Object.entries(installed)) {
    if (link || !isInstalled(folder)) continue;
    if (resolved !== undefined) problems.push(`${folder}: the lock file contains a registry URL (${resolved})`);
    if (integrity?.startsWith('sha512-') !== true) problems.push(`${folder}: the lock file has no SHA-512`);
    if (deprecated !== undefined) problems.push(`${folder} is deprecated: ${deprecated}`);
  }
  return problems;
}

/** Dependencies of the package in a folder of which the lock file has other versions. */
function lockedProblems(manifest: Manifest, { packages }: Lock, folder: string): string[] {
  const problems: string[] = [];
  for (const group of ['dependencies', 'devDependencies'] as const) {
    const [wanted, locked] = [manifest[group] ?? {}, packages[folder]?.[group] ?? {}];
    for (const name of new Set([...Object.keys(wanted), ...Object.keys(locked)])) {
      const installed = packages[`node_modules/${name}`];
      const version = (installed?.link ? packages[installed.resolved ?? ''] : installed)?.version;
      if (wanted[name] !== locked[name] || (wanted[name] !== undefined && wanted[name] !== version)) {
        problems.push(
          `${name}: package.json has ${wanted[name] ?? 'no version'}, the lock file ${version ?? 'no version'}`,
        );
      }
    }
  }
  return problems;
}

function scriptProblems({ manifest: { allowScripts }, lock }: Installation): string[] {
  const withScript = new Set(
    Object.entries(lock.packages)
      .filter(([, { hasInstallScript }]) => hasInstallScript)
      .map(([folder]) => nameOf(folder)),
  );
  return [
    ...[...withScript]
      .filter((name) => allowScripts[name] === undefined)
      .map((name) => `${name} has an install script that allowScripts in package.json does not list`),
    ...Object.keys(allowScripts)
      .filter((name) => !withScript.has(name))
      .map((name) => `allowScripts in package.json lists ${name}, which has no install script`),
  ];
}

function licenseProblems({ lock }: Installation): string[] {
  return runtimePackages(lock)
    .filter(({ license }) => !alternativesIn(license).some((one) => ACCEPTED_LICENSES.has(one)))
    .map(({ name, version, license }) => `${name} ${version} has a license that is not accepted: ${license || 'none'}`);
}

/** `(MIT OR CC0-1.0)` offers a choice. */
function alternativesIn(license: string): string[] {
  return license.replaceAll(/[()]/g, '').split(' OR ');
}

/** A row of the guide: package and purpose. */
const ROW = /^\| `([^`]+)` +\| (.*?) +\|$/gm;

/** The run-time dependencies from the registry, with those of `convert/`. */
export function registryDependencies({ manifest, convert }: Dependencies): Readonly<Record<string, string>> {
  const { [convert.manifest.name]: _, ...dependencies } = manifest.dependencies;
  return { ...dependencies, ...convert.manifest.dependencies };
}

function guideProblems(dependencies: Dependencies): string[] {
  const { guide } = dependencies;
  const reasons = new Map([...guide.matchAll(ROW)].map(([, name = '', reason = '']) => [name, reason]));
  const names = Object.keys(registryDependencies(dependencies));
  return [
    ...names
      .filter((name) => (reasons.get(name) ?? '').trim() === '')
      .map((name) => `docs/dependencies.md does not say what ${name} is for`),
    ...[...reasons.keys()]
      .filter((name) => !names.includes(name))
      .map((name) => `docs/dependencies.md lists ${name}, which is not a dependency`),
  ];
}

/** Imported packages and Node modules, including type-only and dynamic imports. */
function importedBy(text: string): string[] {
  const { importedFiles } = typescript.preProcessFile(text);
  return importedFiles.map(({ fileName }) => fileName).filter((specifier) => !specifier.startsWith('.'));
}

function useProblems({ manifest, sources }: Pick<Dependencies, 'manifest' | 'sources'>): string[] {
  const usedIn = new Map<string, string>();
  for (const [path, text] of Object.entries(sources)) {
    for (const specifier of importedBy(text)) usedIn.set(packageOf(specifier), path);
  }
  const names = Object.keys(manifest.dependencies);
  return [
    ...names.filter((name) => !usedIn.has(name)).map((name) => `${name} is not imported by production code`),
    ...[...usedIn]
      .filter(([name]) => !names.includes(name) && !name.startsWith('node:') && !builtinModules.includes(name))
      .map(([name, path]) => `${path} imports ${name}, which is not a dependency`),
  ];
}

/** `@scope/name/part` → `@scope/name` */
function packageOf(specifier: string): string {
  return specifier.startsWith('node:') ? specifier : specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

/** `node_modules/a/node_modules/@b/c` → `@b/c` */
function nameOf(folder: string): string {
  return folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

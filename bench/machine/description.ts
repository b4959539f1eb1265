import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, release, totalmem, type } from 'node:os';
import { fileURLToPath } from 'node:url';
import { digestOf } from '../market/reused.ts';
import { canPin } from './cores.ts';

/** The machine that the figures were measured on. */
export interface MachineDescription {
  cores: number;
  cpu: string;
  memoryGigabytes: number;
  kernel: string;
  isPinned: boolean;
  /** Name of a program or library → version. */
  versions: Record<string, string>;
}

/** Besides the processor, what figures depend on. */
const RUNTIMES = ['Node.js', 'SQLite', 'PostgreSQL'];
const LIBRARIES = ['fastify', 'kysely', 'pg', 'pino'];

/** Describes this machine and the installed versions. */
export function describeMachine(postgresVersion: string): MachineDescription {
  const processors = cpus();
  return {
    cores: processors.length,
    cpu: processors[0]?.model.trim() ?? 'unknown',
    memoryGigabytes: Math.round(totalmem() / 2 ** 30),
    kernel: `${type()} ${release()}`,
    isPinned: canPin(),
    versions: {
      'Node.js': process.versions.node,
      SQLite: process.versions['sqlite'] ?? 'unknown',
      PostgreSQL: postgresVersion,
      ...Object.fromEntries(LIBRARIES.map((name) => [name, versionOf(`../../node_modules/${name}`)])),
      'drizzle-orm': versionOf('../../tools/node_modules/drizzle-orm'),
    },
  };
}

/** The version of the package in a folder, relative to this file; `unknown` if there is none. */
function versionOf(folder: string): string {
  try {
    const manifest = fileURLToPath(new URL(`${folder}/package.json`, import.meta.url));
    return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
  } catch {
    return 'unknown';
  }
}

/** Whether two descriptions are of the same kind of machine with the same database and runtime versions. */
export function isSameMachine(one: MachineDescription, other: MachineDescription): boolean {
  const identity = ({ cpu, cores, memoryGigabytes, versions }: MachineDescription): string =>
    JSON.stringify([cpu, cores, memoryGigabytes, ...RUNTIMES.map((name) => versions[name])]);
  return identity(one) === identity(other);
}

/** The commit that is measured, and a digest of its sources, which also covers uncommitted changes. */
export function describeSources(): { commit: string; sources: string } {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  return { commit, sources: digestOf('src', 'client/src') };
}

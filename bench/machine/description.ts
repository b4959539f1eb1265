import { readFileSync } from 'node:fs';
import { cpus, release, totalmem, type } from 'node:os';
import { fileURLToPath } from 'node:url';
import { canPin, isInstalled } from './cores.ts';

/** The machine that the figures were measured on. */
export interface MachineDescription {
  cores: number;
  cpu: string;
  memoryGigabytes: number;
  kernel: string;
  isPinned: boolean;
  loadGenerator: string;
  /** Name of a program or library → version. */
  versions: Record<string, string>;
}

const LIBRARIES = ['fastify', 'kysely', 'pg', 'pino'];
const TOOLS = ['drizzle-orm', 'autocannon'];

/** Describes this machine and the installed versions. */
export function describeMachine(postgresVersion: string): MachineDescription {
  const processors = cpus();
  return {
    cores: processors.length,
    cpu: processors[0]?.model.trim() ?? 'unknown',
    memoryGigabytes: Math.round(totalmem() / 2 ** 30),
    kernel: `${type()} ${release()}`,
    isPinned: canPin(),
    loadGenerator: isInstalled('wrk') ? 'wrk' : 'autocannon',
    versions: {
      'Node.js': process.versions.node,
      SQLite: process.versions['sqlite'] ?? 'unknown',
      PostgreSQL: postgresVersion,
      ...Object.fromEntries(LIBRARIES.map((name) => [name, versionOf(`../../node_modules/${name}`)])),
      ...Object.fromEntries(TOOLS.map((name) => [name, versionOf(`../../tools/node_modules/${name}`)])),
    },
  };
}

/** The version of the package in a folder, relative to this file; `unknown` if there is none. */
export function versionOf(folder: string): string {
  try {
    const manifest = fileURLToPath(new URL(`${folder}/package.json`, import.meta.url));
    return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
  } catch {
    return 'unknown';
  }
}

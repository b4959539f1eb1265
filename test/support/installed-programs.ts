import { existsSync, globSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'vitest';

/** The executables of each program; the first one found counts. */
const PROGRAMS = {
  postgresql: ['pg_basebackup'],
  pgbouncer: ['pgbouncer'],
  patroni: ['patroni'],
  etcd: ['etcd'],
  haproxy: ['haproxy'],
  redis: ['redis-server', 'valkey-server'],
  nginx: ['nginx'],
  openssl: ['openssl'],
  curl: ['curl'],
  python: ['python3'],
  // The shell alone opens a page in less than half of the time.
  chromium: ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'],
  systemd: ['systemd-analyze'],
  // The library, which can be missing even if a `faketime` is on the PATH.
  faketime: globSync('/usr/lib/*/faketime/libfaketime.so.1'),
  prometheus: ['promtool'],
  gzip: ['gunzip'],
  iconv: ['iconv'],
  wrk: ['wrk'],
  buildah: ['buildah'],
  apt: ['apt-get'],
  psql: ['psql'],
  jq: ['jq'],
  miller: ['mlr'],
  csvkit: ['csvlook'],
  pandas: ['/usr/lib/python3/dist-packages/pandas'],
  libreoffice: ['soffice'],
  // Installed by `npm ci --prefix tools`.
  tools: [fileURLToPath(new URL('../../tools/node_modules/.package-lock.json', import.meta.url))],
  // Installed by `npm ci --prefix mcp`.
  mcp: [fileURLToPath(new URL('../../mcp/node_modules/.package-lock.json', import.meta.url))],
} as const;

export type InstalledProgram = keyof typeof PROGRAMS;

/**
 * `test` for code that needs programs npm does not install. If one is missing, skips the tests and prints why. The
 * Debian packages have these names, or contain them, but for `tools` and `mcp`; `.ci/run` installs all of them.
 */
export function testWith(...programs: readonly InstalledProgram[]): ReturnType<typeof test.skipIf> {
  const missing = programs.filter((program) => !isInstalled(program));
  if (missing.length > 0)
    process.stderr.write(`tests are skipped, since they need what is not installed: ${missing.join(', ')}\n`);
  return test.skipIf(missing.length > 0);
}

/** Whether the program is installed. */
export function isInstalled(program: InstalledProgram): boolean {
  return findInstalled(program) !== null;
}

/** The path of a program, or null if it is not installed. */
export function findInstalled(program: InstalledProgram): string | null {
  const postgres = '/usr/lib/postgresql';
  const versions = existsSync(postgres) ? readdirSync(postgres).map((version) => join(postgres, version, 'bin')) : [];
  const folders = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/usr/local/sbin', ...versions];
  const paths = PROGRAMS[program].flatMap((name) => folders.map((folder) => resolve(folder, name)));
  return paths.find((path) => existsSync(path)) ?? null;
}

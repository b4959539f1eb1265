import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../docs/documents.ts';
import type { Workspace } from '../../support/cluster/workspace.ts';
import { npmSettings } from '../../support/npm-settings.ts';
import type { Buildah } from './buildah.ts';

const run = promisify(execFile);

/** The Debian packages of the base that runs the service: what Node needs. */
const RUNTIME = ['base-files', 'libc6', 'libgcc-s1', 'libstdc++6'];
/** Debian packages of the image that runs `npm ci`, in addition to Node and npm. */
const TOOLS = ['coreutils', 'dash', 'findutils'];

/** One certificate of a bundle. */
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Makes images of Debian's packages and npm's Node, and gives them the names of the Containerfile's bases: the first installs
 * the packages, the last runs the service. So the build needs no registry of images.
 */
export async function makeBaseImages(buildah: Buildah): Promise<void> {
  const { workspace } = buildah;
  const text = await readFile(join(ROOT, 'Containerfile'), 'utf8');
  const names = [...text.matchAll(/^FROM (\S+)/gm)].map(([, name = '']) => name);
  const [builder = '', base = ''] = [names[0], names.at(-1)];
  const version = /^node:(\d+)-/.exec(builder)?.[1];
  if (version === undefined || !base.includes(`/nodejs${version}-`))
    throw new Error(`the base images must have the same version of Node: ${builder}, ${base}`);

  const packages = await downloadPackages(workspace);
  const modules = await installNode(workspace, version);
  const node = join(modules, `node-linux-${process.arch}/bin/node`);

  await makeImage(buildah, `docker.io/library/${builder}`, async (root) => {
    await extract(packages, root);
    await cp(node, join(root, 'usr/local/bin/node'));
    await cp(join(modules, 'npm'), join(root, 'usr/local/lib/node_modules/npm'), { recursive: true });
    await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'));
    await writeFile(join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
  });
  await makeImage(buildah, base, async (root) => {
    await extract(packages.filter(isRuntime), root);
    await cp(node, join(root, 'nodejs/bin/node'));
  });
}

/** Makes an image of what `fill` puts into a folder. */
async function makeImage(buildah: Buildah, name: string, fill: (root: string) => Promise<void>): Promise<void> {
  const container = await buildah.run('from', 'scratch');
  await fill(await buildah.run('mount', container));
  await buildah.run('commit', '--rm', container, name);
}

/** Downloads packages with all that they depend on, as for a machine that has none; returns the files. */
async function downloadPackages(workspace: Workspace): Promise<string[]> {
  const folder = workspace.path('packages');
  await mkdir(join(folder, 'partial'), { recursive: true });
  const settings = ['Dir::State::status=/dev/null', `Dir::Cache::archives=${folder}`, 'Debug::NoLocking=true'];
  const options = ['--yes', '--download-only', '--no-install-recommends', ...settings.flatMap((text) => ['-o', text])];
  await run('apt-get', ['install', ...options, ...RUNTIME, ...TOOLS]);
  const names = await readdir(folder);
  return names.filter((name) => name.endsWith('.deb')).map((name) => join(folder, name));
}

function isRuntime(file: string): boolean {
  return RUNTIME.some((name) => basename(file).startsWith(`${name}_`));
}

/** Unpacks packages into a folder. */
async function extract(packages: readonly string[], folder: string): Promise<void> {
  for (const file of packages) await run('dpkg-deb', ['--extract', file, folder]);
}

/** Installs Node and npm from npm's registry; returns their folder. */
async function installNode(workspace: Workspace, version: string): Promise<string> {
  const folder = workspace.path('node');
  await mkdir(folder);
  const options = ['--no-save', '--ignore-scripts', '--prefer-offline', '--prefix', folder];
  await run('npm', ['install', ...options, `node-linux-${process.arch}@${version}`, 'npm@11'], {
    cwd: folder,
    env: npmEnvironment(),
  });
  return join(folder, 'node_modules');
}

/** This machine's settings of npm, for the build. Certificates are inline, since the build sees no other file. */
export async function readNpmrc(): Promise<string> {
  const { stdout } = await run('npm', ['config', 'list', '--json'], { cwd: ROOT, env: npmEnvironment() });
  const { registry, userconfig, cafile } = JSON.parse(stdout) as Record<string, string | null>;
  const bundle = cafile ?? process.env['NODE_EXTRA_CA_CERTS'];
  const certificates = bundle == null ? null : (await readFile(bundle, 'utf8')).match(CERTIFICATE);
  return [
    await readFile(userconfig ?? '', 'utf8').catch(() => ''),
    `registry=${registry}`,
    ...(certificates ?? []).map((certificate) => `ca[]=${JSON.stringify(certificate)}`),
    '',
  ].join('\n');
}

function npmEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  return { PATH, HOME, ...npmSettings() };
}

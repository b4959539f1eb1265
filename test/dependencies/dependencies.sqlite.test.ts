import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import {
  problemsOf,
  registryDependencies,
  runtimePackages,
  type Dependencies,
} from '../../scripts/dependency-rules.ts';
import { readDependencies } from '../../scripts/read-dependencies.ts';

const own = readDependencies();

test("the project's dependencies follow all rules", () => {
  expect(problemsOf(own)).toEqual([]);
});

type Change = (dependencies: Dependencies) => Dependencies;

const withManifest =
  (change: Partial<Dependencies['manifest']>): Change =>
  (before) => ({ ...before, manifest: { ...before.manifest, ...change } });
const depends = (versions: Record<string, string>): Change =>
  withManifest({ dependencies: { ...own.manifest.dependencies, ...versions } });
const develops = (versions: Record<string, string>): Change =>
  withManifest({ devDependencies: { ...own.manifest.devDependencies, ...versions } });
const withPackage =
  (folder: string, change: object): Change =>
  (before) => ({
    ...before,
    lock: {
      ...before.lock,
      packages: { ...before.lock.packages, [folder]: { ...before.lock.packages[folder], ...change } },
    },
  });
const inTools =
  (change: Change): Change =>
  (before) => ({ ...before, tools: change({ ...before, ...before.tools }) });
const fastify = 'node_modules/fastify';

describe('the dependency check reports', () => {
  const cases: [what: string, change: Change, problem: RegExp][] = [
    ['a range of versions', develops({ vitest: '^5.0.0' }), /vitest is not pinned/],
    ['a tag', depends({ pg: 'latest' }), /pg is not pinned/],
    ['a URL', depends({ pg: 'git+https://x.example/pg' }), /pg is not pinned/],
    ['a version other than that of the lock file', depends({ pg: '8.0.0' }), /pg: package.json has 8.0.0/],
    [
      'a dependency that the lock file lacks',
      depends({ other: '1.0.0' }),
      /other: package.json has 1.0.0, the lock file no version/,
    ],
    [
      'a lock file that installs another version',
      withPackage(fastify, { version: '5.0.0' }),
      /fastify: package.json has .*, the lock file 5.0.0/,
    ],
    [
      'a package of tools/ from another registry',
      inTools(withPackage('node_modules/eslint', { resolved: 'https://x.example/eslint.tgz' })),
      /^tools: .*eslint: the lock file contains a registry URL/,
    ],
    [
      'a package that tools/ has in another version',
      develops({ typescript: '6.0.0' }),
      /typescript: package.json has 6.0.0, tools\/package.json/,
    ],
    [
      'a package from another registry',
      withPackage(fastify, { resolved: 'https://x.example/fastify.tgz' }),
      /contains a registry URL/,
    ],
    ['a package without a digest', withPackage(fastify, { integrity: undefined }), /no SHA-512/],
    ['a weak digest', withPackage(fastify, { integrity: 'sha1-xxx' }), /no SHA-512/],
    [
      'a deprecated package',
      withPackage('node_modules/pg/node_modules/old', {
        version: '1.0.0',
        integrity: 'sha512-x',
        license: 'MIT',
        deprecated: 'gone',
      }),
      /old is deprecated: gone/,
    ],
    ['an install script', withPackage(fastify, { hasInstallScript: true }), /fastify has an install script/],
    [
      'an unnecessary permission to run install scripts',
      withManifest({ allowScripts: { ...own.manifest.allowScripts, pg: true } }),
      /lists pg, which has no install script/,
    ],
    ['a license with further obligations', withPackage(fastify, { license: 'AGPL-3.0' }), /fastify .* AGPL-3.0/],
    ['no license', withPackage(fastify, { license: undefined }), /fastify .* none/],
    [
      'a dependency without a reason',
      (before) => ({ ...before, guide: before.guide.replace('`pg`', '`gp`') }),
      /does not say what pg is for/,
    ],
    [
      'a reason without a dependency',
      (before) => ({ ...before, guide: `${before.guide}\n| \`left-pad\` | pads |\n` }),
      /lists left-pad, which is not a dependency/,
    ],
    ['an unused dependency', depends({ 'fast-check': '4.10.2' }), /fast-check is not imported/],
    [
      'an import of a development dependency',
      (before) => ({ ...before, sources: { ...before.sources, 'src/x.ts': "import fc from 'fast-check';" } }),
      /src\/x.ts imports fast-check/,
    ],
    [
      'an import of `convert/` that its own package.json lacks',
      (before) => ({
        ...before,
        convert: { ...before.convert, sources: { 'convert/src/x.ts': "import pg from 'pg';" } },
      }),
      /convert\/src\/x.ts imports pg/,
    ],
    [
      'an import of the server for assistants that its own package.json lacks',
      (before) => ({ ...before, mcp: { ...before.mcp, sources: { 'mcp/src/x.ts': "import pg from 'pg';" } } }),
      /mcp\/src\/x.ts imports pg/,
    ],
    [
      'a version of `convert/` that the lock file lacks',
      (before) => ({
        ...before,
        convert: { ...before.convert, manifest: { ...before.convert.manifest, dependencies: { luxon: '1.0.0' } } },
      }),
      /luxon: package.json has 1.0.0/,
    ],
  ];
  test.each(cases)('%s', (_case, change, problem) => {
    expect(problemsOf(change(own))).toContainEqual(expect.stringMatching(problem));
  });
});

interface Bom {
  components: {
    name: string;
    version: string;
    purl: string;
    'bom-ref': string;
    hashes: { alg: string; content: string }[];
    licenses: object[];
  }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

test('the bill of materials is valid CycloneDX, and lists exactly what runs in production', () => {
  const script = fileURLToPath(new URL('../../scripts/write-sbom.ts', import.meta.url));
  const text = execFileSync(process.execPath, [script], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  const bom = JSON.parse(text) as Bom;
  expect(bom).toMatchObject({
    bomFormat: 'CycloneDX',
    specVersion: expect.stringMatching(/^1\.\d$/) as string,
    serialNumber: expect.stringMatching(/^urn:uuid:[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/) as string,
    version: 1,
    metadata: { component: { type: 'application', name: own.manifest.name, version: own.manifest.version } },
  });
  const named = (list: { name: string; version: string }[]): string[] =>
    list.map(({ name, version }) => `${name}@${version}`).sort();
  expect(named(bom.components)).toEqual(named(runtimePackages(own.lock)));
  expect(named(bom.components)).toEqual(
    expect.arrayContaining(Object.entries(registryDependencies(own)).map(([name, version]) => `${name}@${version}`)),
  );
  for (const { name, purl, hashes, licenses } of bom.components) {
    expect(purl).toMatch(/^pkg:npm\//);
    expect(hashes, name).toContainEqual({ alg: 'SHA-512', content: expect.stringMatching(/^[\da-f]{128}$/) as string });
    expect(licenses.length, name).toBeGreaterThan(0);
  }
  const refs = new Set([
    `${own.manifest.name}@${own.manifest.version}`,
    ...bom.components.map((component) => component['bom-ref']),
  ]);
  expect(new Set(bom.dependencies.map(({ ref }) => ref))).toEqual(refs);
  for (const { dependsOn } of bom.dependencies) for (const ref of dependsOn) expect(refs).toContain(ref);
  // It lists the components, not where they were fetched from.
  expect([...text.matchAll(/https?:\/\/[^/"]+/g)].map(([address]) => address)).toEqual(['http://cyclonedx.org']);
}, 60_000);

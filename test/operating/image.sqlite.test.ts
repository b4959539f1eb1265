import { execFile } from 'node:child_process';
import { globSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect } from 'vitest';
import { findCommands, ROOT } from '../docs/documents.ts';
import { createClient, dataOf } from '../support/client.ts';
import { findLastingPort } from '../support/free-port.ts';
import { testWith } from '../support/installed-programs.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { timeUntil } from '../support/time-until.ts';
import { Image } from './image/image.ts';

const test = testWith('buildah', 'apt');

const GUIDE = 'docs/operators/containers.md';

/** Node 24 for Linux, and the rest of the base: distroless/nodejs22 is 141 MB, of which its Node is 119. */
const BASE_BYTES = 127e6 + 25e6;

/** The build takes three minutes of CPU, and downloads the packages twice. */
const MAX_BUILD_MS = 900_000;

const image = forAllTests(() => {
  const [build = ''] = findCommands(GUIDE, 'docker build').commands.split('\n');
  return Image.build(build.split(' ').slice(2));
}, MAX_BUILD_MS);

describe('the image, built and run by Buildah', { timeout: MAX_BUILD_MS }, () => {
  test('is smaller than 185 MB', async () => {
    const { stdout } = await promisify(execFile)('find', [join(image.root, 'app'), '-type', 'f', '-printf', '%s\n']);
    const bytes = stdout.split('\n').reduce((sum, size) => sum + Number(size), BASE_BYTES);
    expect(bytes).toBeLessThan(185e6);
    expect(bytes).toBeGreaterThan(BASE_BYTES + 20e6);
  });

  test('has all that the service loads, and nothing else of a checkout or of a package', async () => {
    const app = join(image.root, 'app');
    const names = ['LICENSE', 'convert', 'node_modules', 'package.json', 'portal', 'sample', 'src'];
    expect(readdirSync(app).sort()).toEqual(names);
    expect(globSync('node_modules/{*,@*/*}/{test,docs,*.map,*.d.ts}', { cwd: app })).toEqual([]);
    await image.node(`
      import manifest from '/app/package.json' with { type: 'json' };
      for (const name of Object.keys(manifest.dependencies)) await import(name);
    `);
  });

  test('imports and serves as a user without rights, with one writable folder, and stops when it is told to', async () => {
    expect(image.config).toMatchObject({
      User: '65532:65532',
      Env: expect.arrayContaining(['PDS_HOST=0.0.0.0']) as string[],
      ExposedPorts: { '8080/tcp': {} },
      Volumes: { '/data': {} },
    });
    const tried = await image.node(`
      import { writeFileSync } from 'node:fs';
      const failed = (path) => {
        try {
          writeFileSync(path, 'Id,Name');
        } catch ({ code }) {
          return code;
        }
      };
      const files = ['/data/table.csv', '/app/file', '/app/node_modules/file', '/file'];
      console.log(JSON.stringify([process.getuid(), process.getgid(), process.env.TMPDIR, ...files.map(failed)]));
    `);
    expect(JSON.parse(tried)).toEqual([65532, 65532, '/data', null, 'EACCES', 'EACCES', 'EACCES']);

    expect(await image.pds(['convert', 'csv', '--sketch', '/data/table.csv'])).toContain('"file": "table.csv"');
    await image.pds(['import', '/import'], join(ROOT, 'sample'));
    await image.pds(['partner', 'create', 'acme', '--everything']);
    const key = await image.pds(['key', 'issue', 'acme']);

    const [port, adminPort] = [await findLastingPort(), await findLastingPort()];
    const settings = { PDS_HOST: '127.0.0.1', PDS_PORT: `${port}`, PDS_ADMIN_PORT: `${adminPort}` };
    expect(await image.isHealthy(settings)).toBe(false);
    const { pid, exitCode } = await image.start(settings);
    await timeUntil(() => image.isHealthy(settings));

    const client = createClient(`http://127.0.0.1:${port}`);
    expect(dataOf(await client.get('/v1/lead-entities?limit=1', { key }))).toHaveLength(1);
    expect((await client.get('/v1/lead-entities')).status).toBe(401);
    client.close();
    const site = await fetch(`http://127.0.0.1:${port}/docs`);
    expect(site.headers.get('content-type')).toContain('text/html');
    await site.text();

    process.kill(pid, image.config.StopSignal);
    expect(await exitCode).toBe(0);
    expect(readdirSync(join(image.root, 'tmp'))).toEqual([]);
  });
});

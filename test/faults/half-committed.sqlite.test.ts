import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { DatabaseConfig } from '../../src/config.ts';
import { openForCommands } from '../../src/database/open.ts';
import { migrate } from '../../src/database/migrations/migrator.ts';
import { databaseUrlOf, runPds, type Outcome } from '../commands/run-pds.ts';
import { createClient } from '../support/client.ts';
import { makePartner } from '../support/partners.ts';
import { publishLines, withImportDirectory } from '../support/publishing.ts';
import { startServing } from '../support/serving-process.ts';
import { mountSmallDisk, whyNoSmallDisk } from './small-disk.ts';
import { catalogVersion, versionOf } from './versions.ts';

const NO_DISK = whyNoSmallDisk();

test.skipIf(NO_DISK !== null)(
  `a disk that is full between the two commits of a release hides it from nobody, and the next command announces it ${NO_DISK ?? ''}`,
  async () => {
    await using stack = new AsyncDisposableStack();
    const disk = mountSmallDisk(8);
    stack.defer(() => disk.remove());
    // Only the disk with partners and keys is full.
    const folder = mkdtempSync(join(tmpdir(), 'pds-halves-'));
    stack.defer(() => rmSync(folder, { recursive: true }));
    const config: DatabaseConfig = { engine: 'sqlite', path: join(folder, 'pds.sqlite') };
    symlinkSync(join(disk.folder, 'pds.access.sqlite'), join(folder, 'pds.access.sqlite'));
    const database = openForCommands(config);
    stack.defer(() => database.close());
    await migrate(database, Date.now);
    await publishLines(database, catalogVersion(1));
    const { key } = await makePartner(database, Date.now, { name: 'acme', everything: true });
    const serving = startServing(config);
    stack.defer(async () => {
      serving.kill('SIGKILL');
      await serving.exited;
    });
    const client = createClient(`http://127.0.0.1:${await serving.port()}`);
    stack.defer(() => client.close());
    const servedVersion = async (path: string): Promise<number> => versionOf([(await client.get(path, { key })).body]);
    // Short enough to be cached on the first request.
    const kept = '/v1/solicitations?limit=1';
    expect(await servedVersion(kept)).toBe(1);

    const pds = (...words: string[]): Promise<Outcome> => runPds(words, { PDS_DATABASE_URL: databaseUrlOf(config) });
    await withImportDirectory(catalogVersion(2), async (directory) => {
      disk.fill();
      expect(await pds('import', directory)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('no space is left on the disk') as string,
      });
      expect(await servedVersion('/v1/solicitations?limit=2')).toBe(2);
      disk.free();
      const again = await pds('import', directory);
      expect(again.stderr).toMatch(/^Completed the import published at .*, which was interrupted after its commit\.$/m);
      expect(again.stderr).toContain('Nothing changed, so nothing was published.');
      const announcedAt = performance.now();
      while ((await servedVersion(kept)) === 1) expect(performance.now() - announcedAt).toBeLessThan(5_000);
    });
  },
);

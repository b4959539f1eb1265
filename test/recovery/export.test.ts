import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import type { OpenDatabase } from '../../src/database/database.ts';
import { openForCommands } from '../../src/database/open.ts';
import { KINDS } from '../../src/kinds.ts';
import { publish, type ImportReport } from '../../src/publishing/publish.ts';
import { MAX_LINE_BYTES } from '../../src/publishing/read/record-schemas.ts';
import { listSources } from '../../src/publishing/read/source.ts';
import { exportCatalog } from '../../src/recovery/export.ts';
import { callPds } from '../commands/call-pds.ts';
import { MAIN } from '../commands/run-pds.ts';
import { catalogVersion, RECORDS, versionOf } from '../faults/versions.ts';
import { catalogs } from '../fuzz/valid-catalogs.ts';
import { createTestDatabase, databaseForEachTest } from '../support/database.ts';
import { newFolder } from '../support/new-folder.ts';
import { publishLines, SMALL_CATALOG, solicitation, withImportDirectory } from '../support/publishing.ts';
import { generatedRecords } from '../support/records/generated-records.ts';
import { numberOfRuns } from '../support/runs.ts';

const RUNS = numberOfRuns({ usually: 12, nightly: 100 });

let folder: string;
let exports: number;

const made = databaseForEachTest();
beforeEach(() => {
  folder = newFolder();
  exports = 0;
});

async function exportTo(database: OpenDatabase, onProgress = (): void => undefined) {
  const directory = join(folder, `export-${(exports += 1)}`);
  const { notes } = await exportCatalog(database, directory, onProgress);
  return { directory, notes, files: filesOf(directory) };
}

function filesOf(directory: string): Record<string, string> {
  return Object.fromEntries(readdirSync(directory).map((name) => [name, readFileSync(join(directory, name), 'utf8')]));
}

async function replaceBy(database: OpenDatabase, directory: string): Promise<ImportReport> {
  const allowed = { replace: true, allowRemovals: true, allowLostAccess: true };
  return publish(database, await listSources(directory), { clock: Date.now, ...allowed });
}

describe('an export', { timeout: 300_000 }, () => {
  test('of any catalog can be imported again without a change, and undoes any import that came after it', async () => {
    const { database } = made;
    const replacing = { replace: true, allowRemovals: true };
    await fc.assert(
      fc.asyncProperty(catalogs, catalogs, async (catalog, later) => {
        await publishLines(database, catalog, replacing);
        const exported = await exportTo(database);
        expect(exported.notes).toEqual([]);
        expect(await replaceBy(database, exported.directory)).toMatchObject({ timestamp: null, rerendered: 0 });
        await publishLines(database, later, replacing);
        await replaceBy(database, exported.directory);
        expect((await exportTo(database)).files).toEqual(exported.files);
      }),
      { numRuns: RUNS },
    );
  });

  test('has the same bytes, in whatever order and with whatever releases the records came into the database', async () => {
    const records = generatedRecords(1);
    await publishLines(made.database, records);
    const { files, directory } = await exportTo(made.database);
    expect(Object.keys(files)).toEqual(KINDS.map((kind) => `${kind}.ndjson`).toSorted());
    expect(files['solicitations.ndjson']).toContain('"status":"draft"');
    for (const [name, text] of Object.entries(files)) {
      const keys = text
        .split('\n')
        .slice(0, -1)
        .map((line) => Buffer.from(keyOf(line)));
      expect([name, keys.length]).toEqual([name, records[name.replace('.ndjson', '')]?.length]);
      expect(keys).toEqual(keys.toSorted((one, other) => Buffer.compare(one, other)));
    }
    await using other = await createTestDatabase();
    for (const kind of KINDS) {
      const lines = records[kind]?.toReversed() ?? [];
      await publishLines(other.database, { [kind]: lines.slice(0, 100) });
      await publishLines(other.database, { [kind]: lines.slice(100) });
    }
    expect((await exportTo(other.database)).files).toEqual(files);
    expect(await replaceBy(other.database, directory)).toMatchObject({ timestamp: null });
  });

  test('is of one release, and no import waits for it', async () => {
    await publishLines(made.database, catalogVersion(1));
    await using other = openForCommands(made.config);
    const imports = await withImportDirectory(catalogVersion(2), async (directory) => {
      const outputs: string[] = [];
      const during = await exportTo(other, () => {
        // Between two kinds.
        if (outputs.length > 0) return;
        outputs.push(
          execFileSync(process.execPath, [MAIN, 'import', directory, '--json'], {
            env: made.settings,
            encoding: 'utf8',
          }),
        );
      });
      expect(versionOf(Object.values(during.files))).toBe(1);
      return outputs;
    });
    expect(imports).toEqual([expect.stringContaining(`"changed": ${RECORDS}`)]);
    expect(versionOf(Object.values((await exportTo(other)).files))).toBe(2);
  });

  test('has lines as short as those of the import, and names one that is too long for an import', async () => {
    const most = MAX_LINE_BYTES.solicitations;
    const { ref, reference_number, title, status, lead_entity_id, require_intent_registration } = solicitation('s', 1);
    const lineOf = (id: string, created_at: string, more = 0): string => {
      const required = { id, ref: ref + more, reference_number, title, status, lead_entity_id };
      const record = { ...required, require_intent_registration, created_at, description: '' };
      const missing = most - Buffer.byteLength(JSON.stringify(record));
      return JSON.stringify({ ...record, description: 'x'.repeat(missing) });
    };
    const exact = lineOf('sol_exact', '2026-01-01T00:00:00.000Z');
    const { 'lead-entities': leadEntities } = SMALL_CATALOG;
    // A timestamp is exported with milliseconds.
    const solicitations = [exact, lineOf('sol_longer', '2026-01-01T00:00:00Z', 1)];
    await publishLines(made.database, { 'lead-entities': leadEntities, solicitations });
    const { files, notes } = await exportTo(made.database);
    expect(Buffer.byteLength(files['solicitations.ndjson']?.split('\n')[0] ?? '')).toBe(most);
    expect(notes).toEqual([
      `warning: an import would refuse sol_longer of solicitations: its line is ${most + 4} bytes long; the maximum for a line of this file is ${most}`,
    ]);
  });

  test('that is interrupted or fails leaves nothing behind', async () => {
    await publishLines(made.database, SMALL_CATALOG);
    const interrupt = (): void => {
      throw new Error('interrupted');
    };
    await expect(exportTo(made.database, interrupt)).rejects.toThrow('interrupted');
    await expect(exportCatalog(made.database, join(folder, 'new', 'today'), interrupt)).rejects.toThrow('interrupted');
    expect(readdirSync(folder)).toEqual([]);
  });
});

function keyOf(line: string): string {
  const { id, abbreviation } = JSON.parse(line) as Record<string, string>;
  return id ?? abbreviation ?? '';
}

describe('pds export', () => {
  test('creates a folder that only its owner can read, which pds diff and pds import read', async () => {
    const { timestamp } = await publishLines(made.database, SMALL_CATALOG);
    const target = join(folder, 'exports', 'today');
    const { code, stdout } = await callPds(['export', target, '--json'], made.settings);
    expect(code).toBe(0);
    const kinds = Object.fromEntries(KINDS.map((kind) => [kind, SMALL_CATALOG[kind].length]));
    expect(JSON.parse(stdout)).toEqual({ directory: target, published_at: timestamp, kinds, notes: [] });
    expect(statSync(target).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(target)) expect(statSync(join(target, name)).mode & 0o777, name).toBe(0o600);
    expect((await callPds(['diff', target, '--replace'], made.settings)).code).toBe(0);
    await publishLines(made.database, { coops: [{ id: 'co_bad', name: 'Bad' }] });
    expect((await callPds(['diff', target, '--replace'], made.settings)).code).toBe(1);
    expect(await callPds(['import', target, '--replace', '--yes'], made.settings)).toMatchObject({ code: 0 });
    const again = join(folder, 'exports', 'again');
    expect((await callPds(['export', again], made.settings)).stderr).toMatch(
      /^Exported the release at \S+Z to \S+again\. /m,
    );
    expect(filesOf(again)).toEqual(filesOf(target));
  });

  test('writes empty files for an empty catalog, with which a first import is undone', async () => {
    const target = join(folder, 'empty');
    const { code, stderr } = await callPds(['export', target], made.settings);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/\nExported an empty catalog to \S+\.\n$/) as string,
    });
    await publishLines(made.database, SMALL_CATALOG);
    expect((await callPds(['import', target, '--replace', '--yes'], made.settings)).code).toBe(0);
    expect(await made.database.kysely.selectFrom('catalog.solicitations').select('id').execute()).toEqual([]);
  });

  test('overwrites nothing, and follows no link', async () => {
    await publishLines(made.database, SMALL_CATALOG);
    const target = join(folder, 'full');
    mkdirSync(target);
    writeFileSync(join(target, 'precious'), '');
    mkdirSync(join(folder, 'elsewhere'));
    symlinkSync(join(folder, 'elsewhere'), join(folder, 'link'));
    const before = readdirSync(folder);
    for (const [words, says] of [
      [['export', target], 'is not empty: choose a new folder'],
      [['export', join(target, 'precious')], 'is not a folder: choose a new one'],
      [['export', join(folder, 'link')], 'is not a folder: choose a new one'],
      [['export', join(folder, 'no', 'such', 'folder')], 'does not exist: create it first'],
    ] as const) {
      expect(await callPds(words, made.settings)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(says) as string,
      });
    }
    expect(readdirSync(folder)).toEqual(before);
    expect([readdirSync(target), readdirSync(join(folder, 'elsewhere'))]).toEqual([['precious'], []]);
  });
});

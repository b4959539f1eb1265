import { CHANGES, faults, FEED, RELEASE, REMOVALS, SYNC, VISIBLE } from './mutant.ts';

/** Faults in imports and commands. */
export const IMPORTS = faults({ tests: RELEASE }, [
  {
    name: 'the removal of a contract is forgotten for its second owner',
    breaks: FEED,
    file: 'src/access/visibility/owners.ts',
    original: '...ownOwners(kind).map(',
    replacement: '...ownOwners(kind).slice(0, 1).map(',
    tests: CHANGES,
  },
  {
    name: '--replace also removes kinds without a file',
    breaks: '--replace removes only records of kinds that have a file',
    file: 'src/publishing/publish.ts',
    original: 'const source = sources.find((candidate) => candidate.kind === kind);',
    replacement: `const empty = { kind, name: \`\${kind}.ndjson\`, size: 0, async *open(): AsyncGenerator<Uint8Array> {} };
    const source = sources.find((candidate) => candidate.kind === kind) ?? (options.replace === true ? empty : undefined);`,
  },
  {
    name: 'the check of large removals counts the records that are added',
    breaks: REMOVALS,
    file: 'src/publishing/write/removals.ts',
    original: 'stored: present.size - counts.added }',
    replacement: 'stored: present.size - counts.removed }',
  },
  {
    name: 'a dry run publishes',
    breaks: 'A preview publishes nothing',
    file: 'src/publishing/publish.ts',
    original: 'if (!isChanged || options.dryRun === true) return',
    replacement: 'if (!isChanged) return',
  },
  {
    name: 'a renamed city service stays in contracts under its old name',
    breaks: 'An import is published whole or not at all',
    file: 'src/publishing/write/rerender.ts',
    original: "if (kind === 'suppliers' && to === 'city-services') continue;",
    replacement: "if (to === 'city-services') continue;",
  },
  {
    name: 'a renamed lead entity leaves the release of its solicitations as it was',
    breaks: SYNC,
    file: 'src/publishing/write/render-row.ts',
    original: 'changed_release: isUpdated || !isServedAlike ? release : stored.changed_release,',
    replacement: 'changed_release: isUpdated ? release : stored.changed_release,',
  },
  {
    name: 'a supplier that a contract names again is not in a sync',
    breaks: SYNC,
    file: 'src/publishing/write/supplier-visibility.ts',
    original:
      'await sql`delete from ${path} where (${owner}, supplier_id) in (${stored} except ${named})`.execute(kysely);',
    replacement:
      'await sql`delete from ${path} where supplier_id not in (select id from catalog.suppliers)`.execute(kysely);',
    tests: VISIBLE,
  },
  {
    name: 'timestamps leave no room for a watermark between them',
    breaks: 'Timestamps are at least two milliseconds apart',
    file: 'src/database/event-log.ts',
    original: 'const MIN_DISTANCE_MS = 2;',
    replacement: 'const MIN_DISTANCE_MS = 1;',
  },
  {
    name: 'cron is not told of keys that end soon',
    breaks: '"pds key list --expiring" exits with 1 if a key ends soon',
    file: 'src/commands/actions/key.ts',
    original: 'return keys.length === 0 ? 0 : 1;',
    replacement: 'return 0;',
    tests: ['test/commands/key-list.test.ts'],
  },
  {
    name: 'pds diff exits with 0 if only removals differ',
    breaks: '"pds diff" exits like diff(1)',
    file: 'src/commands/actions/diff.ts',
    original: '({ added, changed, removed }) => added + changed + removed > 0',
    replacement: '({ added, changed }) => added + changed > 0',
    tests: ['test/commands/diff.sqlite.test.ts'],
  },
  {
    name: 'an import that ends what a partner sees is not asked about',
    breaks: 'An import names the partners that lose access, and asks',
    file: 'src/publishing/losses.ts',
    original: 'for (const counts of saw.difference(see)) counts.lost += 1;',
    replacement: 'for (const counts of see.difference(saw)) counts.lost += 1;',
    tests: ['test/publishing/lost-access.test.ts'],
  },
  {
    name: 'a line counts as unchanged by the beginning of its hash',
    breaks: 'An import stores every record as its file has it',
    file: 'src/publishing/read/lines.ts',
    original: "hash('sha256', bytes, 'base64url').slice(0, 22)",
    replacement: "hash('sha256', bytes, 'base64url').slice(0, 2)",
    tests: ['test/publishing/fields.unit.test.ts'],
    isInCi: true,
  },
  {
    name: 'a removal of exactly a fifth needs to be allowed',
    breaks: REMOVALS,
    file: 'src/publishing/write/removals.ts',
    original: 'removed > stored * MAX_REMOVED_SHARE',
    replacement: 'removed > 0 && removed >= stored * MAX_REMOVED_SHARE',
  },
]);

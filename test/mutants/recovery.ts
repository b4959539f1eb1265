import type { Mutant } from './mutant.ts';

/** Faults in backups, restores and rollbacks. */
export const RECOVERY: readonly Mutant[] = [
  {
    name: 'a second rollback undoes the first',
    breaks: '"pds rollback" goes back to the release that the current one was made from',
    file: 'src/recovery/rollback.ts',
    original: 'clock), madeFrom }',
    replacement: 'clock), madeFrom: Math.max(from, madeFrom ?? 0) }',
    tests: ['test/recovery/rollback.sqlite.test.ts'],
    test: 'two rollbacks go two releases back',
    isInCi: true,
  },
  {
    name: 'a restore with --access forgets the timestamps of the replaced database',
    breaks: 'After a restore, timestamps continue after all that partners have seen',
    file: 'src/recovery/restore.ts',
    original: 'clock, latestOf(after, main.lastEvent))',
    replacement: 'clock, latestOf(after, EPOCH))',
    tests: ['test/recovery/restore.sqlite.test.ts'],
  },
  {
    name: 'a damaged backup is restored if its files are as long as they were',
    breaks: 'A backup that differs from its manifest is not restored',
    file: 'src/recovery/backup-manifest.ts',
    original: '(await digestFile(path, onRead)) !== files[group].sha256)',
    replacement: '(await digestFile(path, onRead)).length !== files[group].sha256.length)',
    tests: ['test/recovery/restore-refused.sqlite.test.ts'],
  },
];

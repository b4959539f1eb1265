import type { Migration } from '../../src/database/migrations/migration.ts';

/** Adds an operator's label to keys. Servers do not read it. */
export const keyLabels: Migration = {
  number: 6,
  name: 'key labels',
  isAdditive: true,
  statements() {
    return ['alter table access.keys add column label text'];
  },
};

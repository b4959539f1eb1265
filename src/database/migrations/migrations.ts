import { partnersAndKeys } from '../../../migrations/access/0001-partners-and-keys.ts';
import { usageAndAudit } from '../../../migrations/access/0002-usage-and-audit.ts';
import { revisionToken } from '../../../migrations/access/0003-revision-token.ts';
import { grantChanges } from '../../../migrations/access/0004-grant-changes.ts';
import { keyLifetimes } from '../../../migrations/access/0005-key-lifetimes.ts';
import { keyLabels } from '../../../migrations/access/0006-key-labels.ts';
import { deletedPartners } from '../../../migrations/access/0007-deleted-partners.ts';
import { publishedRecords } from '../../../migrations/catalog/0001-published-records.ts';
import { searchIndexes } from '../../../migrations/catalog/0002-search-indexes.ts';
import { numbersInOrder } from '../../../migrations/catalog/0003-numbers-in-order.ts';
import { bitmapIndex } from '../../../migrations/catalog/0004-bitmap-index.ts';
import { indexFilled } from '../../../migrations/catalog/0005-index-filled.ts';
import { formerSearchRemoved } from '../../../migrations/catalog/0006-former-search-removed.ts';
import type { Migration, TableGroup } from './migration.ts';

/** All migrations in execution order. Append to a group; never edit a released migration. */
export const MIGRATIONS: Readonly<Record<TableGroup, readonly Migration[]>> = {
  catalog: [publishedRecords, searchIndexes, numbersInOrder, bitmapIndex, indexFilled, formerSearchRemoved],
  access: [
    ...[partnersAndKeys, usageAndAudit, revisionToken, grantChanges, keyLifetimes],
    ...[keyLabels, deletedPartners],
  ],
};

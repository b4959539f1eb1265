import { formatTimestamp } from '../../timestamp.ts';
import { accessSchema } from './access.ts';
import { catalogSchema } from './catalog.ts';
import { ledgerStatement, type GroupSchema, type TableGroup } from './schema.ts';

/** The schema of each group in this version. */
export const SCHEMAS: Readonly<Record<TableGroup, GroupSchema>> = { catalog: catalogSchema, access: accessSchema };

/** The oldest version whose schema this one can use or upgrade. */
export const OLDEST_VERSION = '2.0';

/** The statements that create an empty catalog of SQLite, as a first migration does. */
export function createdCatalog(): string[] {
  const { number, name, create } = SCHEMAS.catalog;
  return [
    ledgerStatement('catalog'),
    `insert into catalog.migrations (number, name, applied_at)
      values (${number}, '${name}', '${formatTimestamp(Date.now())}')`,
    ...create('sqlite'),
  ];
}

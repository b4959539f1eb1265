import { accessSchema } from './access.ts';
import { catalogSchema } from './catalog.ts';
import type { GroupSchema, TableGroup } from './migration.ts';

export const SCHEMAS: Readonly<Record<TableGroup, GroupSchema>> = { catalog: catalogSchema, access: accessSchema };

import { sql } from 'kysely';
import type { ListedRecords } from '../../paging/page-statement.ts';

/** Certifications as a list shows them. */
export const listedCertifications: ListedRecords = {
  table: 'certifications',
  alias: 'certification',
  found: { column: 'abbreviation', type: 'text' },
  key: 'abbreviation',
  text: sql<string>`certification.document`,
  bytes: sql<number>`octet_length(certification.document)`,
  changesAt: sql<null>`null`,
};

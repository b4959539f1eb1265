import { sql, type SqlBool } from 'kysely';
import type { OpenDatabase } from '../../database/database.ts';
import { limitSlot, slot } from '../../database/statement.ts';
import type { WalkPlace } from '../../paging/answer-list.ts';
import type { ListedRecords } from '../../paging/page-statement.ts';
import type { Walk } from '../../paging/snapshot.ts';
import { fts5Query, holdsWords, tsquery } from '../../search/search-index.ts';
import { queryWords } from '../../search/words.ts';
import { allOf, given } from '../conditions.ts';

export interface CertificationFilters {
  q?: string;
  type?: string;
}

/** How certifications stand in a list. */
export const listedCertifications: ListedRecords = {
  table: 'certifications',
  alias: 'certification',
  position: sql`certification.abbreviation`,
  key: sql<string>`certification.abbreviation`,
  text: sql<string>`certification.document`,
  bytes: sql<number>`octet_length(certification.document)`,
  changesAt: sql<null>`null`,
};

/** One page of the certifications, which every partner sees. Walks the unique index on abbreviation: there are few. */
export function walkCertifications(
  { engine }: OpenDatabase,
  filters: CertificationFilters,
  { after }: WalkPlace,
): Walk {
  const words = filters.q === undefined ? null : queryWords(filters.q);
  const hasAfter = after !== null;
  const hasType = filters.type !== undefined;
  const search = words === null ? 'none' : words.length === 0 ? 'nothing' : 'check';
  return {
    shape: `certifications ${JSON.stringify({ hasAfter, hasType, search })}`,
    build: () => sql`select certification.abbreviation as position from catalog.certifications as certification
      where ${allOf([
        hasAfter ? sql<SqlBool>`certification.abbreviation > ${slot('after')}` : null,
        hasType ? sql<SqlBool>`certification.type = ${slot('type')}` : null,
        given(
          {
            none: null,
            nothing: sql<SqlBool>`1 = 0`,
            check: holdsWords(engine, 'certifications', sql.ref('certification.number')),
          }[search],
          (c) => c,
        ),
      ])}
      order by certification.abbreviation limit ${limitSlot('rows')}`,
    values: { ...filters, match: (engine === 'sqlite' ? fts5Query : tsquery)(words ?? []), after },
    asOf: [],
    upto: null,
  };
}

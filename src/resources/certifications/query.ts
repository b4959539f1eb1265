import { sql, type SqlBool } from 'kysely';
import type { Database } from '../../database/database.ts';
import type { PageWindow } from '../../paging/answer-list.ts';
import { holdsWords } from '../../search/search-index.ts';
import { queryWords } from '../../search/words.ts';
import { allOf, given } from '../conditions.ts';

export interface CertificationFilters {
  q?: string;
  type?: string;
}

/** One page of the certifications, which every partner sees. Walks the unique index on abbreviation. */
export function selectCertifications({ engine, kysely }: Database, filters: CertificationFilters, window: PageWindow) {
  return kysely
    .selectFrom('catalog.certifications as certification')
    .select(['certification.abbreviation as key', 'certification.document'])
    .where(
      allOf([
        given(window.after, (after) => sql<SqlBool>`certification.abbreviation > ${after}`),
        given(filters.q, (q) => holdsWords(engine, 'certifications', sql.ref('certification.number'), queryWords(q))),
        given(filters.type, (type) => sql<SqlBool>`certification.type = ${type}`),
      ]),
    )
    .orderBy('certification.abbreviation')
    .limit(window.rows);
}

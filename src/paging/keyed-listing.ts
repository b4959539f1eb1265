import type { Scope } from '../access/scope.ts';
import { compareBytewise } from '../bytewise.ts';
import type { FoundRecords } from '../index/record-index.ts';
import { WHOLE_LIST, type ListedRecords, type Listing } from './pages.ts';

/** A short list whose records are found by key. */
export function keyedListing(
  records: ListedRecords,
  find: (scope: Scope, after: string | null, limit: number) => Promise<FoundRecords>,
): Listing {
  return {
    records,
    async find(scope, _since, after, limit, until) {
      const found = await find(scope, after, limit);
      if (until === null) return found;
      const positions = found.positions.filter((key) => compareBytewise(String(key), until) <= 0);
      return { ...found, positions, hasMore: found.hasMore && positions.length === found.positions.length };
    },
    async count(scope, _since, after) {
      const { catalog, positions } = await find(scope, after, WHOLE_LIST);
      return { catalog, total: positions.length };
    },
  };
}

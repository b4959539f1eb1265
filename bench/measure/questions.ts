import { gatherCursors } from '../candidates/cursors.ts';
import { addressOf, type ListFilters, type Question } from '../candidates/question.ts';
import { Random } from '../dataset/random.ts';
import { COMMON_WORD, RARE_WORDS, TWO_WORDS } from '../dataset/search-words.ts';
import { WordSource } from '../dataset/vocabulary.ts';
import type { HttpRequest } from '../load/load.ts';
import type { MarketFacts } from '../market/facts.ts';
import { combinationsOf, type FilterValues } from '../../test/support/records/filter-combinations.ts';
import type { BenchContext, Settings } from './context.ts';

/** Earlier than every deadline in the data. */
const LONG_AGO = Date.parse('1990-01-01T00:00:00.000Z');

/** No server here serves more uncached pages per second. */
const MAX_PAGES_PER_SECOND = 20_000;

/** The number of questions that suffices for all rounds without repeating any. */
export function questionsNeeded({ rounds, seconds }: Settings): number {
  return (rounds + 1) * seconds * MAX_PAGES_PER_SECOND;
}

/**
 * Adds a lower bound on deadlines that all records satisfy, a new one to each question: a new URL for the same work, so
 * that responses do not come from a cache.
 */
export function newQuestions(
  context: BenchContext,
  count: number,
  filtersOf: (index: number) => ListFilters,
  more: { kind: 'list'; limit?: number } | { kind: 'count' } = { kind: 'list' },
): Question[] {
  const first = context.takeNumbers(count);
  return Array.from({ length: count }, (_, index) => {
    const closingAfter = new Date(LONG_AGO + first + index).toISOString();
    return { ...more, filters: { ...filtersOf(index), closingAfter } };
  });
}

/** First pages with two filters, all of them full, cycling through pairs of lead entity and status. */
export function listQuestions(context: BenchContext, count: number): Question[] {
  const { filledPairs } = context.market.facts;
  return newQuestions(context, count, (index) => ({ ...filledPairs[index % filledPairs.length] }));
}

/** First pages of searches. */
export function searchQuestions(context: BenchContext, words: readonly string[], count = words.length): Question[] {
  return newQuestions(context, count, (index) => ({ q: words[index % words.length] ?? '' }));
}

export function detailQuestions(facts: MarketFacts): Question[] {
  return facts.solicitationIds.map((id) => ({ kind: 'detail', id }));
}

/** Questions for the pages after records of a list, in random order. Gives all services the cursors for them. */
export async function questionsAfter(
  context: BenchContext,
  path: string,
  wanted: Parameters<typeof gatherCursors>[2],
  questionOf: (after: string) => Question,
): Promise<Question[]> {
  let ids: string[] = [];
  for (const service of await context.services()) ids = await gatherCursors(service, path, wanted);
  return new Random(14).shuffle(ids).map(questionOf);
}

/** Random words with the same frequencies as in the data. */
export function wordsByFrequency(count: number, seed = 11): string[] {
  const random = new Random(seed);
  const source = new WordSource();
  return Array.from({ length: count }, () => source.draw(random));
}

/** The most expensive searches: prefixes of very many words. No two of them have a word in common. */
export const WORST_WORDS: readonly string[] = ['a b c d', 's t p', 'e i o', 'co in re', 'the of and'];

/** Word prefixes that do not overlap with `WORST_WORDS`. */
export const WARM_UP_WORDS: readonly string[] = 'g h j k l m n q u v w x y z'.split(' ');

/** Filters of counts, without search words. */
export function countFilters({ facts }: BenchContext['market']): (index: number) => ListFilters {
  const random = new Random(12);
  const statuses = ['open', 'closed', 'awarded', 'cancelled'];
  const makers: ((index: number) => ListFilters)[] = [
    (index) => ({ status: statuses[index % 4] ?? 'open' }),
    (index) => ({ leadEntity: facts.largestLeadEntity, status: statuses[index % 4] ?? 'open' }),
    (index) => facts.filledPairs[index % facts.filledPairs.length] ?? {},
    () => ({ closingBefore: new Date(Date.UTC(2018 + random.integer(0, 8), random.integer(0, 11))).toISOString() }),
    () => ({}),
  ];
  return (index) => ({ ...makers[index % makers.length]?.(index) });
}

/** The requests to this service for questions without `after`. */
export function requestsFor(questions: readonly Question[]): HttpRequest[] {
  return questions.map((question) => ({ path: addressOf(question, undefined) }));
}

/** A twentieth of the classes of 3 digits. */
const NIGP_CLASSES = Array.from({ length: 20 }, (_, index) => String(50 * index).padStart(3, '0')).join(',');

/** Every combination of filters, for every list and for counts, with both very common and rare values. */
export function everyCombination(facts: MarketFacts, changedSince: string): HttpRequest[] {
  const q = [COMMON_WORD, RARE_WORDS[0] ?? '', TWO_WORDS, ...WORST_WORDS];
  const updated_since = [changedSince];
  const severalLeadEntities = [...new Set(facts.filledPairs.map(({ leadEntity }) => leadEntity))]
    .slice(0, 20)
    .join(',');
  const lead_entity = [facts.largestLeadEntity, severalLeadEntities];
  const city_service = [facts.commonCityService];
  const lists: Record<string, FilterValues> = {
    solicitations: {
      q,
      status: ['open,cancelled'],
      lead_entity,
      nigp: [NIGP_CLASSES],
      is_open: ['true'],
      closing_after: ['2016-06-01T00:00:00Z'],
      closing_before: ['2026-06-20T00:00:00Z'],
      updated_since,
    },
    contracts: {
      q,
      lead_entity,
      coop: [facts.commonCoop],
      supplier: [facts.commonSupplier],
      city_service,
      updated_since,
    },
    suppliers: { q, state: [facts.commonState], city_service, updated_since },
    certifications: { q },
  };
  const paths = Object.entries({ ...lists, 'solicitations/count': lists['solicitations'] ?? {} }).flatMap(
    ([path, filters]) => combinationsOf(filters).map((query) => `/v1/${path}?${query}`),
  );
  return paths.map((path) => ({ path }));
}

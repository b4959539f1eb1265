import { PAGE, type ListFilters, type Question } from '../candidates/question.ts';
import { Random } from '../dataset/random.ts';
import { WordSource } from '../dataset/vocabulary.ts';
import type { MarketFacts } from '../market/facts.ts';
import type { Settings } from './context.ts';

/** Earlier than every deadline in the data. */
const LONG_AGO = Date.parse('1990-01-01T00:00:00.000Z');

/** No server here serves more uncached pages per second. */
const MAX_PAGES_PER_SECOND = 20_000;

/** The number of questions that suffices for all rounds without repeating any. */
export function questionsNeeded({ rounds, seconds }: Settings): number {
  return (rounds + 1) * seconds * MAX_PAGES_PER_SECOND;
}

/**
 * A lower bound on deadlines that all records satisfy. A different `index` makes a different URL for the same work, so
 * that responses do not come from a cache.
 */
export function newBound(index: number): string {
  return new Date(LONG_AGO + index).toISOString();
}

/** First pages with two filters, all of them full, cycling through pairs of lead entity and status. */
export function listQuestions(facts: MarketFacts, count: number, firstBound = 0): Question[] {
  return Array.from({ length: count }, (_, index) => {
    const pair = facts.filledPairs[index % facts.filledPairs.length];
    return { kind: 'list', filters: { ...pair, closingAfter: newBound(firstBound + index) } };
  });
}

/** First pages of searches, each with a unique bound. */
export function searchQuestions(words: readonly string[], count: number, firstBound = 0): Question[] {
  return Array.from({ length: count }, (_, index) => {
    const filters: ListFilters = { closingAfter: newBound(firstBound + index) };
    const q = words[index % words.length];
    return { kind: 'list', filters: q === undefined ? filters : { ...filters, q } };
  });
}

/** Counts for the largest lead entity and one status. */
export function countQuestions(facts: MarketFacts, count: number, firstBound = 0): Question[] {
  const filters = { leadEntity: facts.largestLeadEntity, status: 'awarded' };
  return Array.from({ length: count }, (_, index) => ({
    kind: 'count',
    filters: { ...filters, closingAfter: newBound(firstBound + index) },
  }));
}

export function detailQuestions(facts: MarketFacts): Question[] {
  return facts.solicitationIds.map((id) => ({ kind: 'detail', id }));
}

/** Pages in the last tenth of the list. */
export function deepQuestions(facts: MarketFacts): Question[] {
  return spread(facts.deepIds.slice(0, -PAGE)).map((after) => ({ kind: 'list', filters: {}, after }));
}

export function contractQuestions(facts: MarketFacts): Question[] {
  return facts.contractIds.map((after) => ({ kind: 'contracts', after }));
}

/** First pages of the changes since the second import began, each with a unique bound. */
export function changeQuestions(changedSince: string, count: number): Question[] {
  const earliest = Date.parse(changedSince);
  return Array.from({ length: count }, (_, index) => ({
    kind: 'list',
    filters: { updatedSince: changedSince, closingAfter: newBound((earliest % 1000) + 5_000_000 + index) },
  }));
}

/** Random words with the same frequencies as in the data. */
export function wordsByFrequency(count: number, seed = 11): string[] {
  const random = new Random(seed);
  const source = new WordSource();
  return Array.from({ length: count }, () => source.draw(random));
}

/** The most expensive searches: prefixes of very many words. */
export function worstWords(): string[] {
  return ['a b c', 's t p', 'c s', 'a', 's', 'e i o', 'a b c d e f', 'co in re', 'the of and', 'p a'];
}

/** Counts without search words: by filters and by ranges of deadlines. */
export function filterCounts(facts: MarketFacts, count: number, firstBound = 7_000_000): Question[] {
  const random = new Random(12);
  const statuses = ['open', 'closed', 'awarded', 'cancelled'];
  const makers: ((index: number) => ListFilters)[] = [
    (index) => ({ status: statuses[index % 4] ?? 'open' }),
    (index) => ({ leadEntity: facts.largestLeadEntity, status: statuses[index % 4] ?? 'open' }),
    (index) => facts.filledPairs[index % facts.filledPairs.length] ?? {},
    () => ({ closingBefore: new Date(Date.UTC(2018 + random.integer(0, 8), random.integer(0, 11))).toISOString() }),
    () => ({}),
  ];
  return Array.from({ length: count }, (_, index) => {
    return {
      kind: 'count',
      filters: { ...makers[index % makers.length]?.(index), closingAfter: newBound(firstBound + index) },
    };
  });
}

/** Counts with search words, every other one also with a bound on deadlines. */
export function wordCounts(words: readonly string[], firstBound = 7_500_000): Question[] {
  return words.map((q, index) => ({
    kind: 'count',
    filters: index % 2 === 0 ? { q } : { q, closingAfter: newBound(firstBound + index) },
  }));
}

/** Word prefixes that do not overlap with `worstWords`. */
export function warmUpWords(): string[] {
  return ['g', 'h', 'j', 'k', 'l', 'm', 'n', 'q', 'u', 'v', 'w', 'x', 'y', 'z', 'g h', 'k l m', 'n u v', 'l w'];
}

/** Shuffled with a separate seed, so that neighbouring records are not requested one after the other. */
function spread<T>(values: readonly T[]): T[] {
  return new Random(14).shuffle([...values]);
}

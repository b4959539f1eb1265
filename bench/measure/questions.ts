import { PAGE, type ListFilters, type Question } from '../candidates/question.ts';
import { Random } from '../dataset/random.ts';
import { WordSource } from '../dataset/vocabulary.ts';
import type { MarketFacts } from '../market/facts.ts';
import type { Settings } from './context.ts';

/** Before every deadline of the data. */
const LONG_AGO = Date.parse('1990-01-01T00:00:00.000Z');

/** No server here answers more pages a second that it makes anew. */
const MOST_A_SECOND = 20_000;

/** Enough questions for all rounds, that none has to be asked twice. */
export function questionsNeeded({ rounds, seconds }: Settings): number {
  return (rounds + 1) * seconds * MOST_A_SECOND;
}

/**
 * A bound on deadlines that every deadline meets, and that no other question has: it makes an
 * address new, and leaves the work the same.
 */
export function newBound(index: number): string {
  return new Date(LONG_AGO + index).toISOString();
}

/** First pages of two filters, full ones, of all lead entities in turn. */
export function listQuestions(facts: MarketFacts, count: number, firstBound = 0): Question[] {
  return Array.from({ length: count }, (_, index) => {
    const pair = facts.filledPairs[index % facts.filledPairs.length];
    return { kind: 'list', filters: { ...pair, closingAfter: newBound(firstBound + index) } };
  });
}

/** First pages of what holds the words, each time with a bound that makes the address new. */
export function searchQuestions(words: readonly string[], count: number, firstBound = 0): Question[] {
  return Array.from({ length: count }, (_, index) => {
    const filters: ListFilters = { closingAfter: newBound(firstBound + index) };
    const q = words[index % words.length];
    return { kind: 'list', filters: q === undefined ? filters : { ...filters, q } };
  });
}

/** Counts over the largest lead entity and one status. */
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

/** Pages that begin after nine tenths of all. */
export function deepQuestions(facts: MarketFacts): Question[] {
  return spread(facts.deepIds.slice(0, -PAGE)).map((after) => ({ kind: 'list', filters: {}, after }));
}

export function contractQuestions(facts: MarketFacts): Question[] {
  return facts.contractIds.map((after) => ({ kind: 'contracts', after }));
}

/** What changed since the second publication began, each time with another instant before it. */
export function changeQuestions(changedSince: string, count: number): Question[] {
  const earliest = Date.parse(changedSince);
  return Array.from({ length: count }, (_, index) => ({
    kind: 'list',
    filters: { updatedSince: changedSince, closingAfter: newBound((earliest % 1000) + 5_000_000 + index) },
  }));
}

/** Words in the proportion in which the data holds them. */
export function wordsByFrequency(count: number, seed = 11): string[] {
  const random = new Random(seed);
  const source = new WordSource();
  return Array.from({ length: count }, () => source.draw(random));
}

/** The costliest that can be asked: beginnings of very many words. */
export function worstWords(): string[] {
  return ['a b c', 's t p', 'c s', 'a', 's', 'e i o', 'a b c d e f', 'co in re', 'the of and', 'p a'];
}

/** Counts without words: of filters, and of windows of deadlines. */
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

/** Counts with words, every other one with a bound on deadlines as well. */
export function wordCounts(words: readonly string[], firstBound = 7_500_000): Question[] {
  return words.map((q, index) => ({
    kind: 'count',
    filters: index % 2 === 0 ? { q } : { q, closingAfter: newBound(firstBound + index) },
  }));
}

/** Beginnings of words that share nothing with the worst words. */
export function warmUpWords(): string[] {
  return ['g', 'h', 'j', 'k', 'l', 'm', 'n', 'q', 'u', 'v', 'w', 'x', 'y', 'z', 'g h', 'k l m', 'n u v', 'l w'];
}

/** In another order, that of no other question list, so that neighbours are not asked one after the other. */
function spread<T>(values: readonly T[]): T[] {
  return new Random(14).shuffle([...values]);
}

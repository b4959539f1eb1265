import { COMMON_WORD, RARE_WORDS, TWO_WORDS } from '../dataset/search-words.ts';
import type { Part } from '../measure/context.ts';
import { questionsNeeded, searchQuestions } from '../measure/questions.ts';
import { measureThroughput } from '../measure/throughput.ts';

const WORKS: readonly [work: string, words: readonly string[]][] = [
  ['search, common word', [COMMON_WORD]],
  ['search, rare word', RARE_WORDS],
  ['search, two words', [TWO_WORDS]],
];

export const search: Part = {
  name: 'search',
  title: 'Search never asked before',
  async run(context) {
    const candidates = [...(await context.services()), ...(await context.baselines())];
    for (const [work, words] of WORKS) {
      const questions = searchQuestions(words, questionsNeeded(context.settings));
      await measureThroughput(context, { part: 'search', work, candidates, questions });
    }
  },
};

import type { RunningCandidate } from '../candidates/candidate.ts';
import type { Question } from '../candidates/question.ts';
import { startFromMemory } from '../candidates/from-memory.ts';
import { COMMON_WORD, RARE_WORDS, TWO_WORDS } from '../dataset/search-words.ts';
import type { BenchContext, Part } from '../measure/context.ts';
import {
  detailQuestions,
  listQuestions,
  newQuestions,
  questionsAfter,
  questionsNeeded,
  searchQuestions,
} from '../measure/questions.ts';
import { fetchOne, withSameRecords } from '../measure/same-work.ts';
import { measureThroughput, type Work } from '../measure/throughput.ts';

export const list: Part = {
  name: 'list',
  title: 'List pages with two filters, never requested before',
  run: (context) =>
    measureAll(context, 'list page, two filters', listQuestions(context, questionsNeeded(context.settings))),
};

export const detail: Part = {
  name: 'detail',
  title: 'Details, never requested before',
  run: (context) => measureAll(context, 'detail', detailQuestions(context.market.facts)),
};

/** Number of cursors to collect. Limited, because collecting takes longer than measuring. */
const CURSORS = 30_000;
const CURSORS_OF_SMOKE = 500;

export const contracts: Part = {
  name: 'contracts',
  title: 'Contracts with embedded suppliers and services, never requested before',
  async run(context) {
    const count = context.settings.isSmoke ? CURSORS_OF_SMOKE : CURSORS;
    // A tenth as many contracts as solicitations.
    const wanted = { skip: 0, step: Math.ceil(context.size / 10 / count), count };
    const questions = await questionsAfter(context, '/v1/contracts', wanted, (after) => ({ kind: 'contracts', after }));
    // A cursor is valid only for its partner, so every round has the same one.
    await measureAll(context, 'contracts page', questions, { headers: (candidate) => candidate.headers(0) });
  },
};

export const search: Part = {
  name: 'search',
  title: 'Searches and counts, never requested before',
  async run(context) {
    const { facts } = context.market;
    const count = questionsNeeded(context.settings);
    const words = { 'common word': [COMMON_WORD], 'rare word': RARE_WORDS, 'two words': [TWO_WORDS] };
    for (const [name, searched] of Object.entries(words)) {
      // Tokenizers differ, so the servers need not find the same records.
      await measureAll(context, `search, ${name}`, searchQuestions(context, searched, count), { isSame: false });
    }
    const filters = { leadEntity: facts.largestLeadEntity, status: 'awarded' };
    await measureAll(
      context,
      'count, two filters',
      newQuestions(context, count, () => filters, { kind: 'count' }),
    );
  },
};

/** Measures the service and all baselines that support the questions. */
async function measureAll(
  context: BenchContext,
  work: string,
  [first, ...questions]: readonly Question[],
  { isSame = true, ...more }: Pick<Work, 'headers'> & { isSame?: boolean } = {},
): Promise<void> {
  if (first === undefined) throw new Error(`nothing to request for "${work}"`);
  const all: RunningCandidate[] = [...(await context.services()), ...(await context.baselines())];
  const candidates = isSame ? await withSameRecords(context, all, first) : all;
  await measureThroughput(context, { work, questions, candidates, ...more });
}

export const again: Part = {
  name: 'again',
  title: 'The same page requested again, and a conditional request (304)',
  async run(context) {
    const questions = listQuestions(context, 1);
    const services = await context.services();
    const [question, service] = [questions[0], services[0]];
    if (question === undefined || service === undefined) throw new Error('nothing to request');
    const tags = new Map<string, string>();
    for (const one of services) tags.set(one.name, (await fetchOne(one, question)).tag);
    const fromMemory = await startFromMemory(context.scratch, (await fetchOne(service, question)).body);
    const base = { questions, candidates: [...services, fromMemory], isRepeated: true };
    try {
      await measureThroughput(context, { ...base, work: 'page requested again' });
      await measureThroughput(context, {
        ...base,
        work: 'conditional request',
        headers: (candidate, round) => {
          const tag = tags.get(candidate.name);
          return { ...candidate.headers(round), ...(tag !== undefined && { 'If-None-Match': tag }) };
        },
      });
    } finally {
      await fromMemory.stop();
    }
  },
};

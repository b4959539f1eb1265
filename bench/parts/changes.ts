import type { Question } from '../candidates/question.ts';
import type { BenchContext, Part } from '../measure/context.ts';
import { changeQuestions, questionsNeeded, searchQuestions } from '../measure/questions.ts';
import { measureThroughput } from '../measure/throughput.ts';

const BOUND = 200_000_000;

export const changes: Part = {
  name: 'changes',
  title: 'First page of updated_since, 3 in 100 changed at the end of the ids',
  async run(context) {
    for (const service of await context.services()) {
      const questions = changeQuestions(service.database.changedSince, questionsNeeded(context.settings));
      await measureThroughput(context, { ...workOf('changes'), candidates: [service], questions });
    }
  },
};

export const scope: Part = {
  name: 'scope',
  title: 'List page of a partner that sees 3 records',
  async run(context: BenchContext) {
    const questions: Question[] = searchQuestions([], questionsNeeded(context.settings), BOUND);
    for (const service of await context.services()) {
      const headers = () => ({ Authorization: `Bearer ${service.database.keys.narrow}` });
      await measureThroughput(context, { ...workOf('scope'), candidates: [service], questions, headers });
    }
  },
};

function workOf(part: 'changes' | 'scope'): { part: string; work: string } {
  return { part, work: part === 'changes' ? 'changes since a release of 3 in 100' : 'scope of 3 records' };
}

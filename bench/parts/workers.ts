import type { RunningCandidate } from '../candidates/candidate.ts';
import { startService } from '../candidates/service.ts';
import type { Part } from '../measure/context.ts';
import { listQuestions, questionsNeeded } from '../measure/questions.ts';
import { measureThroughput } from '../measure/throughput.ts';

const BOUND = 500_000_000;
const WORKERS = 2;

export const workers: Part = {
  name: 'workers',
  title: 'CPU time of a request, one process and two workers',
  async run(context) {
    const { settings, market, scratch } = context;
    for (const engine of settings.engines) {
      const database = market.databases[engine];
      const candidates: RunningCandidate[] = [];
      try {
        for (const count of [1, WORKERS]) {
          // Not pinned: two workers on one core would measure the scheduler.
          const service = await startService(engine, database, { folder: scratch, core: null, workers: count });
          const name = `${service.name}, ${count === 1 ? 'one process' : `${count} workers`}`;
          candidates.push({ ...service, name });
        }
        const questions = listQuestions(market.facts, questionsNeeded(settings), BOUND);
        const part = 'workers';
        await measureThroughput(context, { part, work: 'list page, two filters', candidates, questions });
        const again = questions.slice(0, 1);
        await measureThroughput(context, {
          part,
          work: 'page asked again',
          candidates,
          questions: again,
          isRepeated: true,
        });
      } finally {
        for (const candidate of candidates) await candidate.stop();
      }
    }
  },
};

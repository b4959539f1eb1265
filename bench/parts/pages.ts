import type { RunningCandidate } from '../candidates/candidate.ts';
import { gatherCursors } from '../candidates/cursors.ts';
import { startFromMemory } from '../candidates/from-memory.ts';
import { startNginx } from '../candidates/nginx.ts';
import type { Question } from '../candidates/question.ts';
import type { BenchContext, Part } from '../measure/context.ts';
import { fetchBody, requireSameRecords } from '../measure/same-work.ts';
import {
  contractQuestions,
  countQuestions,
  deepQuestions,
  detailQuestions,
  listQuestions,
  questionsNeeded,
} from '../measure/questions.ts';
import { measureThroughput } from '../measure/throughput.ts';

/** Number of cursors to collect for pages deep in a list. Limited, because collecting takes longer than measuring. */
const CURSORS = 30_000;
const CURSORS_OF_SMOKE = 500;

export const list: Part = {
  name: 'list',
  title: 'List page never asked before, with two filters',
  async run(context) {
    const { market, settings } = context;
    const questions = listQuestions(market.facts, questionsNeeded(settings));
    await measureAll(context, 'list', 'list page, two filters', questions, { withLimits: true });
  },
};

export const detail: Part = {
  name: 'detail',
  title: 'Detail never asked before',
  run: (context) =>
    measureAll(context, 'detail', 'detail', detailQuestions(context.market.facts), { withLimits: true }),
};

export const deep: Part = {
  name: 'deep',
  title: 'Next page, nine tenths into the table',
  async run(context) {
    const questions = deepQuestions(context.market.facts).slice(0, cursorsOf(context));
    await gather(context, '/v1/solicitations', questions);
    await measureAll(context, 'deep', 'next page, nine tenths into the table', questions, { withCursors: true });
  },
};

export const contracts: Part = {
  name: 'contracts',
  title: 'Contracts with embedded suppliers and services, never asked before',
  async run(context) {
    const questions = contractQuestions(context.market.facts).slice(0, cursorsOf(context));
    await gather(context, '/v1/contracts', questions);
    await measureAll(context, 'contracts', 'contracts page', questions, { withCursors: true });
  },
};

export const count: Part = {
  name: 'count',
  title: 'Count over two filters, never asked before',
  async run(context) {
    const { market, settings } = context;
    await measureAll(context, 'count', 'count, two filters', countQuestions(market.facts, questionsNeeded(settings)));
  },
};

function cursorsOf({ settings }: BenchContext): number {
  return settings.isSmoke ? CURSORS_OF_SMOKE : CURSORS;
}

async function gather(context: BenchContext, path: string, questions: readonly Question[]): Promise<void> {
  const ids = questions.flatMap((question) => ('after' in question ? question.after : []));
  for (const service of await context.services()) await gatherCursors(service, path, ids);
}

/**
 * Measures the service and all baselines that support the questions. `withLimits` adds servers that send the same bytes
 * ready-made. `withCursors` uses the same partner in each round, because a cursor is valid only for its partner.
 */
async function measureAll(
  context: BenchContext,
  part: string,
  work: string,
  questions: readonly Question[],
  { withLimits = false, withCursors = false } = {},
): Promise<void> {
  const services = await context.services();
  const candidates: RunningCandidate[] = [...services, ...(await context.baselines())];
  const [first] = questions;
  const [service] = services;
  if (first === undefined || service === undefined) return;
  await requireSameRecords(context, part, candidates, first);
  const limits = withLimits ? await startLimits(context, await fetchBody(service, first)) : [];
  try {
    await measureThroughput(context, {
      part,
      work,
      questions: questions.slice(1),
      candidates: [...candidates, ...limits],
      ...(withCursors && { headers: (candidate) => candidate.headers(0) }),
    });
  } finally {
    for (const limit of limits) await limit.stop();
  }
}

/** Starts servers that send the same bytes from memory and, if nginx is installed, from a file. */
export async function startLimits(context: BenchContext, body: string): Promise<RunningCandidate[]> {
  const nginx = await startNginx(context.scratch, body);
  if (nginx === null) context.store.addGap({ part: 'all', candidate: 'nginx', reason: 'it is not installed here' });
  return [await startFromMemory(context.scratch, body), ...(nginx === null ? [] : [nginx])];
}

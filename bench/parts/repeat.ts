import type { Question } from '../candidates/question.ts';
import type { RunningService } from '../candidates/service.ts';
import type { BenchContext, Part } from '../measure/context.ts';
import { listQuestions } from '../measure/questions.ts';
import { fetchBody } from '../measure/same-work.ts';
import { measureThroughput } from '../measure/throughput.ts';
import { startLimits } from './pages.ts';

/** Far from the bounds that other parts use. */
const BOUND = 9_000_000;

export const repeat: Part = {
  name: 'repeat',
  title: 'The same page asked again, nothing published since',
  run: (context) => measureRepeated(context, 'repeat', 'page asked again', () => ({})),
};

export const conditional: Part = {
  name: 'conditional',
  title: 'Conditional request, unchanged (304)',
  async run(context) {
    const tags = new Map<string, string>();
    const question = questionOf(context);
    for (const service of await context.services()) tags.set(service.name, await fetchTag(service, question));
    await measureRepeated(context, 'conditional', 'conditional request', (name): Record<string, string> => {
      const tag = tags.get(name);
      return tag === undefined ? {} : { 'If-None-Match': tag };
    });
  },
};

function questionOf({ market }: BenchContext): Question {
  const [question] = listQuestions(market.facts, 1, BOUND);
  if (question === undefined) throw new Error('there is nothing to ask');
  return question;
}

/** Measures the service, with a different partner each round, next to servers that send the same bytes ready-made. */
async function measureRepeated(
  context: BenchContext,
  part: string,
  work: string,
  moreHeaders: (name: string) => Record<string, string>,
): Promise<void> {
  const question = questionOf(context);
  const services = await context.services();
  const [service] = services;
  if (service === undefined) return;
  const limits = await startLimits(context, await fetchBody(service, question));
  try {
    await measureThroughput(context, {
      part,
      work,
      candidates: [...services, ...limits],
      questions: [question],
      isRepeated: true,
      headers: (candidate, round) => ({ ...candidate.headers(round), ...moreHeaders(candidate.name) }),
    });
  } finally {
    for (const limit of limits) await limit.stop();
  }
}

async function fetchTag(service: RunningService, question: Question): Promise<string> {
  const request = service.requestFor(question);
  const answer = await fetch(`http://127.0.0.1:${service.port}${request?.path ?? ''}`, {
    headers: { ...service.headers(0), 'Accept-Encoding': 'identity' },
  });
  await answer.arrayBuffer();
  return answer.headers.get('etag') ?? '';
}

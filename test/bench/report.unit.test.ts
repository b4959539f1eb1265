import { expect, test } from 'vitest';
import { MINIMUM } from '../../bench/candidates/baselines.ts';
import { SERVICE_NAMES } from '../../bench/candidates/service.ts';
import { type Results, type Thoroughness } from '../../bench/measure/results.ts';
import { compare } from '../../bench/report/comparison.ts';
import { Figures } from '../../bench/report/figures.ts';
import type { Subject } from '../../bench/report/subject.ts';

const THOROUGHNESS: Thoroughness = {
  engines: ['sqlite'],
  withPeers: false,
  rounds: 3,
  seconds: 1,
  connections: 1,
  samples: 1,
};

const SUBJECT: Subject = {
  title: 'Pages',
  part: 'list',
  columns: ['requests/s'],
  better: 'more',
  whyBehind: 'it does less',
  whyAhead: 'it is rendered',
};

function figuresOf(values: Readonly<Record<string, number[]>>): Figures {
  const figures = Object.entries(values).map(([candidate, rounds]) => ({
    ...{ work: 'page', candidate, unit: 'requests/s' as const, values: rounds },
  }));
  const part = { part: 'list', size: 10_000, measuredAt: '', commit: '', sources: '', problems: [], figures };
  return new Figures({ machine: null, parts: [{ ...part, thoroughness: THOROUGHNESS }] } satisfies Results);
}

test('a sentence names who is ahead of the service first, by the ratio of the medians', () => {
  const figures = figuresOf({ [SERVICE_NAMES.sqlite]: [90, 100, 900], [MINIMUM]: [200], Slow: [10], Equal: [101] });
  expect(compare(figures, SUBJECT)).toEqual({
    text:
      'A hand-written minimum is ahead by up to 2.0 times (10 thousand), because it does less; ' +
      'this service is ahead of Slow by 10 times, because it is rendered; this service is level with Equal.',
    loss: 2,
  });
});

test('a table of which nothing was measured has no sentence', () => {
  expect(compare(figuresOf({ [SERVICE_NAMES.sqlite]: [1] }), SUBJECT)).toBeNull();
});

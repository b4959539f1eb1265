import { expect, test } from 'vitest';
import { MINIMUM } from '../../bench/candidates/baselines.ts';
import { SERVICE_NAMES } from '../../bench/candidates/service.ts';
import { type Results, type Thoroughness, type Unit } from '../../bench/measure/results.ts';
import { boundsText } from '../../bench/report/bounds.ts';
import { compare } from '../../bench/report/comparison.ts';
import { Figures } from '../../bench/report/figures.ts';
import { longestSoaks, soakText } from '../../bench/report/soak.ts';
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

function figuresOf(values: Readonly<Record<string, number[]>>, name = 'list', unit: Unit = 'requests/s'): Figures {
  const figures = Object.entries(values).map(([candidate, rounds]) => ({
    ...{ work: 'page', candidate, unit, values: rounds },
  }));
  const part = { part: name, size: 10_000, measuredAt: '', commit: '', sources: '', problems: [], figures };
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

test('servers are compared round by round, so that a phase in which the machine is slow favours none of them', () => {
  const figures = figuresOf({ [SERVICE_NAMES.sqlite]: [100, 50, 51], [MINIMUM]: [100, 99, 51] });
  expect(compare(figures, SUBJECT)?.text).toContain('is level with a hand-written minimum');
});

test('a table of which nothing was measured has no sentence', () => {
  expect(compare(figuresOf({ [SERVICE_NAMES.sqlite]: [1] }), SUBJECT)).toBeNull();
});

test('a bound is the largest value of all nights of the newest version, and of all rounds of the bench', () => {
  const night = { bound: 'pause', engine: 'sqlite', unit: 'ms' } as const;
  const run = { engine: 'postgres', seed: 1, steps: 10, syncs: 3 } as const;
  const text = boundsText(figuresOf({ [SERVICE_NAMES.sqlite]: [300, 1_200] }, 'memory', 'MB'), [
    { version: '2.9.0', at: '', ...night, max: 99, trials: 9 },
    { version: '2.10.0', at: '', ...night, max: 7, trials: 1_000 },
    { version: '2.10.0', at: '', ...night, max: 8, trials: 500 },
    { version: '2.10.0', at: '', ...run, histories: 700 },
    { version: '2.10.0', at: '', ...run, histories: 400 },
  ]);
  expect(text).toContain(
    'Version 2.10.0 has passed random histories, each with a seed of its own: on PostgreSQL 1,100 with',
  );
  expect(text.split('\n').slice(-2)).toEqual([
    '| pause |  | 8.00 ms | 1,500 |  |  |',
    '| memory page |  | 1,200 MB | 2 |  |  |',
  ]);
});

test('of the soaks of the newest version, the longest on each engine is in the report', () => {
  const minute = { mb: 100, p50Ms: 2, p99Ms: 9, longestMs: 50 };
  const soak = { at: '', engine: 'sqlite', processes: 2, requests: 5_000, imports: 7 } as const;
  const longest = { ...soak, version: '2.10.0', byMinute: [minute, { ...minute, p99Ms: 12 }] };
  const onPostgres = { ...longest, engine: 'postgres' } as const;
  const shorter = { ...longest, byMinute: [minute] };
  const older = { ...longest, version: '2.9.0', byMinute: [minute, minute, minute] };
  expect(longestSoaks([older, longest, shorter, onPostgres])).toEqual([longest, onPostgres]);
  expect(soakText(longest)).toContain('2 minutes: 5,000 requests of every kind, while 7 imports ran');
  expect(soakText(longest)).toContain('p99 9.00 to 12.0 ms');
});

import { FROM_MEMORY } from '../candidates/from-memory.ts';
import { MINIMUM } from '../candidates/minimum.ts';
import { DIRECTUS, PLATFORMATIC } from '../candidates/peer-names.ts';
import { SERVICE_NAMES } from '../candidates/service.ts';
import type { Engine } from '../market/market.ts';
import type { Unit } from '../measure/results.ts';
import { readable, type Figures } from './figures.ts';

/** Something that is aimed at, on one engine. */
export interface Target {
  work: string;
  engine: Engine;
  aim: string;
  /** What was measured; null where it was not. */
  measured: number | null;
  unit: string;
  isMet: boolean | null;
}

type Aim = { atLeast: number } | { atMost: number };

/** Compares what was measured with everything that is aimed at. */
export function judgeTargets(figures: Figures): Target[] {
  const targets: Target[] = [];
  const judge = (work: string, engine: Engine, measured: number | null, aim: Aim, unit = ''): void => {
    const bound = 'atLeast' in aim ? aim.atLeast : aim.atMost;
    const isMet = measured === null ? null : 'atLeast' in aim ? measured >= bound : measured <= bound;
    const text = `${'atLeast' in aim ? 'at least' : 'at most'} ${readableBound(bound)}${unit}`;
    targets.push({ work, engine, aim: text, measured, unit, isMet });
  };
  for (const engine of ['postgres', 'sqlite'] as const) {
    judgeSpeed(new Lookup(figures, engine), judge);
    judgeGrowth(new Lookup(figures, engine), judge);
    judgeImport(new Lookup(figures, engine), judge);
    judgeServer(new Lookup(figures, engine), judge);
  }
  return targets;
}

type Judge = (work: string, engine: Engine, measured: number | null, aim: Aim, unit?: string) => void;

/** Figures of the service on one engine. */
class Lookup {
  readonly engine: Engine;
  readonly figures: Figures;

  constructor(figures: Figures, engine: Engine) {
    this.figures = figures;
    this.engine = engine;
  }

  value(part: string, work: string, unit: Unit, size?: number, suffix = ''): number | null {
    const candidate = SERVICE_NAMES[this.engine] + suffix;
    return this.figures.find({ part, work, candidate, unit, ...(size !== undefined && { size }) });
  }

  /** Times the requests a second of another candidate. */
  timesOf(other: string, part: string, work: string): number | null {
    const unit = 'requests/s';
    return divided(this.value(part, work, unit), this.figures.find({ part, work, candidate: other, unit }));
  }
}

function judgeSpeed(lookup: Lookup, judge: Judge): void {
  const { engine, figures } = lookup;
  const list = 'list page, two filters';
  const times = (work: string, part: string, name: string, other: string, atLeast: number): void =>
    judge(`${work} ÷ ${other}`, engine, lookup.timesOf(other, part, name), { atLeast });
  if (engine === 'postgres') {
    times('list page never asked before', 'list', list, MINIMUM, 2);
    times('list page never asked before', 'list', list, PLATFORMATIC, 3);
    times('list page never asked before', 'list', list, DIRECTUS, 25);
  } else {
    const onPostgres = SERVICE_NAMES.postgres;
    times('list page never asked before', 'list', list, onPostgres, 1);
  }
  times('contracts page never asked before', 'contracts', 'contracts page', MINIMUM, 4);
  times('detail', 'detail', 'detail', MINIMUM, engine === 'postgres' ? 0.8 : 1.3);
  times('page asked again', 'repeat', 'page asked again', FROM_MEMORY, 0.5);
  times('conditional request, unchanged', 'conditional', 'conditional request', FROM_MEMORY, 0.6);
  times('search, rare word', 'search', 'search, rare word', MINIMUM, 3);
  const walked = lookup.value('walk', 'walk, 100 a page', 'records/s', figures.sizesOf('walk').at(-1));
  judge('full walk, 100 a page', engine, walked, { atLeast: 150_000 }, ' records/s');
}

const FLAT_WORK = [
  'list page, two filters',
  'detail',
  'next page, nine tenths into the table',
  'changes since a publication of 3 in 100',
  'scope of 3 records',
];

function judgeGrowth(lookup: Lookup, judge: Judge): void {
  const { engine, figures } = lookup;
  const sizes = figures.sizesOf('latency');
  const [smallest, largest] = [sizes[0], sizes.at(-1)];
  for (const work of FLAT_WORK) {
    const at = (size: number | undefined): number | null => lookup.value('latency', work, 'p50 ms', size);
    const growth = smallest === largest ? null : divided(at(largest), at(smallest));
    judge(`${work}: time at the largest size ÷ time at the smallest`, engine, growth, { atMost: 1.5 });
    judge(
      `${work}: p99, one at a time`,
      engine,
      lookup.value('latency', work, 'p99 ms', largest),
      { atMost: 5 },
      ' ms',
    );
  }
  for (const scope of ['everything', '5 lead entities', '3 records']) {
    const slowest = (words: string, unit: Unit): number | null =>
      lookup.value('search-latency', `search, ${words}, scope of ${scope}`, unit);
    judge(
      `search, words by frequency, scope of ${scope}: p99`,
      engine,
      slowest('words by frequency', 'p99 ms'),
      {
        atMost: 25,
      },
      ' ms',
    );
    judge(
      `search, worst words, scope of ${scope}: longest`,
      engine,
      slowest('worst words', 'most ms'),
      { atMost: 150 },
      ' ms',
    );
  }
  for (const [kind, most] of [
    ['without', 60],
    ['with', 150],
  ] as const) {
    const value = (turn: string, unit: Unit) => lookup.value('count-latency', `count ${kind} words, ${turn}`, unit);
    judge(`count ${kind} words, first time: longest`, engine, value('first time', 'most ms'), { atMost: most }, ' ms');
    judge(`count ${kind} words, again: median`, engine, value('again', 'p50 ms'), { atMost: 1 }, ' ms');
  }
}

function judgeImport(lookup: Lookup, judge: Judge): void {
  const { engine } = lookup;
  const value = (work: string, unit: Unit): number | null => lookup.value('import', work, unit);
  const first = value('first import', 's');
  judge('first import', engine, first, { atMost: engine === 'sqlite' ? 60 : 120 }, ' s');
  judge('first import, memory', engine, value('first import', 'MB'), { atMost: 600 }, ' MB');
  judge('the same again ÷ first import', engine, divided(value('the same again', 's'), first), { atMost: 1 / 3 });
  const renaming = value('renaming the lead entity of a tenth as many contracts', 's');
  judge('renaming a lead entity with 100 thousand contracts', engine, renaming, { atMost: 15 }, ' s');
  const refused = value('until a key revoked during the import is refused', 'ms');
  judge('a key revoked meanwhile is refused', engine, refused, { atMost: 1_000 }, ' ms');
}

function judgeServer(lookup: Lookup, judge: Judge): void {
  const { engine } = lookup;
  const memory = (work: string): number | null => lookup.value('memory', work, 'MB');
  judge('memory at rest', engine, memory('memory at rest'), { atMost: 120 }, ' MB');
  const busiest = Math.max(
    memory('memory after an hour of three partners') ?? NaN,
    memory('memory with the caches full') ?? NaN,
  );
  judge('memory with the caches full', engine, Number.isNaN(busiest) ? null : busiest, { atMost: 350 }, ' MB');
  for (const work of ['list page, two filters', 'page asked again']) {
    const cpu = (suffix: string): number | null =>
      lookup.value('workers', work, 'server CPU µs a request', undefined, suffix);
    const ratio = divided(cpu(', 2 workers'), cpu(', one process'));
    judge(`2 workers ÷ one process, CPU time of a ${work}`, engine, ratio, { atMost: 1.1 });
  }
}

function divided(one: number | null, other: number | null): number | null {
  return one === null || other === null || other === 0 ? null : one / other;
}

function readableBound(bound: number): string {
  return Number.isInteger(bound) ? bound.toLocaleString('en-US') : readable(bound);
}

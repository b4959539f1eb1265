import { FROM_MEMORY } from '../candidates/from-memory.ts';
import { MINIMUM } from '../candidates/minimum.ts';
import { DIRECTUS, PLATFORMATIC } from '../candidates/peer-names.ts';
import { SERVICE_NAMES } from '../candidates/service.ts';
import { SKEWED_PART } from '../parts/part-names.ts';
import type { Engine } from '../market/market.ts';
import type { Unit } from '../measure/results.ts';
import { readable, type Figures } from './figures.ts';

/** A performance target on one engine, with the results. */
export interface Target {
  work: string;
  engine: Engine;
  aim: string;
  unit: string;
  /** By market size; sizes that were not measured are absent. */
  results: Map<number, { measured: number; isMet: boolean | null }>;
}

const MILLION = 1_000_000;

/** A bound for every size, or one for a million solicitations with an optional other bound for smaller sizes. */
type Bound = number | { atMillion: number; below?: number };
type Aim = { atLeast: Bound } | { atMost: Bound };

type Measure = (size: number) => number | null;
type Judge = (work: string, measure: Measure, aim: Aim, unit?: string) => void;

/** Compares the measurements with all targets, at every measured size. */
export function judgeTargets(figures: Figures): Target[] {
  const targets: Target[] = [];
  for (const engine of ['postgres', 'sqlite'] as const) {
    const judge: Judge = (work, measure, aim, unit = '') => {
      const results: Target['results'] = new Map();
      for (const size of figures.marketSizes) {
        const measured = measure(size);
        if (measured !== null) results.set(size, { measured, isMet: isMet(aim, measured, size) });
      }
      targets.push({ work, engine, aim: aimText(aim, unit), unit, results });
    };
    const lookup = new Lookup(figures, engine);
    judgeSpeed(lookup, judge);
    judgeLatency(lookup, judge);
    judgeImport(lookup, judge);
    judgeServer(lookup, judge);
  }
  return targets;
}

/** Looks up figures of the service on one engine. */
class Lookup {
  readonly engine: Engine;
  readonly figures: Figures;

  constructor(figures: Figures, engine: Engine) {
    this.figures = figures;
    this.engine = engine;
  }

  at(part: string, work: string, unit: Unit, suffix = ''): Measure {
    const candidate = SERVICE_NAMES[this.engine] + suffix;
    return (size) => this.figures.find({ part, work, candidate, unit, size });
  }

  /** The throughput as a multiple of another candidate's. */
  timesOf(other: string, part: string, work: string): Measure {
    const unit = 'requests/s';
    return divided(this.at(part, work, unit), (size) =>
      this.figures.find({ part, work, candidate: other, unit, size }),
    );
  }

  /** A value without a size, shown in the column of the largest. */
  atLargest(measure: () => number | null): Measure {
    return (size) => (size === this.figures.marketSizes.at(-1) ? measure() : null);
  }
}

function judgeSpeed(lookup: Lookup, judge: Judge): void {
  const isPostgres = lookup.engine === 'postgres';
  const list = 'list page, two filters';
  const times = (work: string, part: string, name: string, other: string, atLeast: Bound): void =>
    judge(`${work} ÷ ${other}`, lookup.timesOf(other, part, name), { atLeast });
  times('list page never asked before', 'list', list, MINIMUM, isPostgres ? { atMillion: 2.5, below: 1.8 } : 1.8);
  if (isPostgres) {
    times('list page never asked before', 'list', list, PLATFORMATIC, 2.5);
    times('list page never asked before', 'list', list, DIRECTUS, 30);
  }
  times('contracts page never asked before', 'contracts', 'contracts page', MINIMUM, 5);
  times('detail', 'detail', 'detail', MINIMUM, isPostgres ? 1 : 1.2);
  times('page asked again', 'repeat', 'page asked again', FROM_MEMORY, 0.5);
  times('conditional request, unchanged', 'conditional', 'conditional request', FROM_MEMORY, 0.6);
  times('search, rare word', 'search', 'search, rare word', MINIMUM, 3);
  if (isPostgres) times('search, two words', 'search', 'search, two words', MINIMUM, 6);
  judge(
    'full listing, 100 a page',
    lookup.at('walk', 'walk, 100 a page', 'records/s'),
    { atLeast: { atMillion: isPostgres ? 130_000 : 200_000 } },
    ' records/s',
  );
}

const FLAT_WORK = [
  'list page, two filters',
  'detail',
  'next page, nine tenths into the table',
  'changes since a release of 3 in 100',
  'scope of 3 records',
];

function judgeLatency(lookup: Lookup, judge: Judge): void {
  const { engine, figures } = lookup;
  const sizes = figures.sizesOf('latency');
  const [smallest, largest] = [sizes[0], sizes.at(-1)];
  for (const work of FLAT_WORK) {
    const median = lookup.at('latency', work, 'p50 ms');
    const growth: Measure = (size) =>
      smallest === undefined || smallest === largest || size !== largest
        ? null
        : divided(median, () => median(smallest))(size);
    judge(`${work}: time at the largest size ÷ time at the smallest`, growth, { atMost: 1.5 });
    judge(`${work}: p99, one at a time`, lookup.at('latency', work, 'p99 ms'), { atMost: 5 }, ' ms');
  }
  for (const scope of ['everything', '5 lead entities', '3 records']) {
    const search = (words: string, unit: Unit): Measure =>
      lookup.at('search-latency', `search, ${words}, scope of ${scope}`, unit);
    const drawn = `search, words by frequency, scope of ${scope}: p99`;
    judge(drawn, search('words by frequency', 'p99 ms'), { atMost: 5 }, ' ms');
    const worst = `search, worst words, scope of ${scope}: longest`;
    judge(worst, search('worst words', 'most ms'), { atMost: { atMillion: 15 } }, ' ms');
  }
  const count = (work: string, unit: Unit): Measure => lookup.at('count-latency', `count ${work}`, unit);
  judge(
    'count without words, first time: longest',
    count('without words, first time', 'most ms'),
    { atMost: 60 },
    ' ms',
  );
  judge('count without words, again: median', count('without words, again', 'p50 ms'), { atMost: 1 }, ' ms');
  const first = count('with words, first time', 'most ms');
  judge('count with words, first time: longest', first, { atMost: { atMillion: 25 } }, ' ms');
  const again = count('with words, again', 'p50 ms');
  judge('count with words, again: median', again, { atMost: { atMillion: 1 } }, ' ms');
  if (engine === 'sqlite') {
    const held = lookup.at('holds', 'longest hold of the event loop', 'most ms');
    judge('longest hold of the event loop over every shape of question', held, { atMost: 10 }, ' ms');
  }
  const { part, work } = SKEWED_PART;
  const skewed = lookup.atLargest(() =>
    figures.find({ part, work, candidate: SERVICE_NAMES[engine], unit: 'most ms' }),
  );
  judge('skewed data: worst request', skewed, { atMost: 50 }, ' ms');
}

function judgeImport(lookup: Lookup, judge: Judge): void {
  const isSqlite = lookup.engine === 'sqlite';
  const at = (work: string, unit: Unit): Measure => lookup.at('import', work, unit);
  const first = at('first import', 's');
  judge('first import', first, { atMost: { atMillion: isSqlite ? 60 : 110 } }, ' s');
  judge('first import, memory', at('first import', 'MB'), { atMost: 600 }, ' MB');
  judge('the same again ÷ first import', divided(at('the same again', 's'), first), { atMost: 1 / 3 });
  judge('1,000 new records spread over all', at('1,000 new records spread over all', 's'), { atMost: 8 }, ' s');
  judge('1,000 changed deadlines', at('1,000 changed deadlines', 's'), { atMost: 1 }, ' s');
  const renaming = at('renaming the lead entity of a tenth as many contracts', 's');
  judge('renaming the lead entity of a tenth as many contracts', renaming, { atMost: 15 }, ' s');
  const refused = at('until a key revoked during the import is refused', 'ms');
  judge('a key revoked meanwhile is refused', refused, { atMost: 1_000 }, ' ms');
}

/**
 * Database size with FTS5 and GIN indexes, in megabytes per million solicitations, by the market size it was measured
 * at. The figure for 100 thousand is also the reference for a million.
 */
const DISK_WITH_FTS5_AND_GIN: Record<Engine, readonly [size: number, megabytes: number][]> = {
  sqlite: [
    [10_000, 3_400],
    [100_000, 2_990],
  ],
  postgres: [
    [10_000, 6_110],
    [100_000, 4_210],
  ],
};

function judgeServer(lookup: Lookup, judge: Judge): void {
  const before: Measure = (size) =>
    DISK_WITH_FTS5_AND_GIN[lookup.engine].findLast(([measuredAt]) => measuredAt <= size)?.[1] ?? null;
  const disk = divided(lookup.at('disk', 'database', 'MB for each million'), before);
  judge('size of the database on disk ÷ that with FTS5 and GIN', disk, { atMost: 1 });
  const memory = (work: string): Measure => lookup.at('memory', work, 'MB');
  judge('memory at rest', memory('memory at rest'), { atMost: 120 }, ' MB');
  const busiest: Measure = (size) => {
    const most = Math.max(
      memory('memory after an hour of three partners')(size) ?? NaN,
      memory('memory with the caches full')(size) ?? NaN,
    );
    return Number.isNaN(most) ? null : most;
  };
  judge('memory with the caches full', busiest, { atMost: 350 }, ' MB');
  for (const work of ['list page, two filters', 'page asked again']) {
    const cpu = (suffix: string): Measure => lookup.at('workers', work, 'server CPU µs a request', suffix);
    const ratio = divided(cpu(', 2 workers'), cpu(', one process'));
    judge(`2 workers ÷ one process, CPU time of a ${work}`, ratio, { atMost: 1.1 });
  }
}

function divided(one: Measure, other: Measure): Measure {
  return (size) => {
    const [dividend, divisor] = [one(size), other(size)];
    return dividend === null || divisor === null || divisor === 0 ? null : dividend / divisor;
  };
}

function boundOf(aim: Aim): Bound {
  return 'atLeast' in aim ? aim.atLeast : aim.atMost;
}

/** Null if there is no target for this size. */
function isMet(aim: Aim, measured: number, size: number): boolean | null {
  const bound = boundOf(aim);
  const limit = typeof bound === 'number' ? bound : size >= MILLION ? bound.atMillion : bound.below;
  if (limit === undefined) return null;
  return 'atLeast' in aim ? measured >= limit : measured <= limit;
}

function aimText(aim: Aim, unit: string): string {
  const bound = boundOf(aim);
  const words = 'atLeast' in aim ? 'at least' : 'at most';
  if (typeof bound === 'number') return `${words} ${readableBound(bound)}${unit}`;
  const below = bound.below === undefined ? '' : `${readableBound(bound.below)}${unit}; `;
  return `${words} ${below}${readableBound(bound.atMillion)}${unit} at a million`;
}

function readableBound(bound: number): string {
  return Number.isInteger(bound) ? bound.toLocaleString('en-US') : readable(bound);
}

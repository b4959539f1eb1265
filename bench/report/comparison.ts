import { SERVICE_NAMES } from '../candidates/service.ts';
import { median } from '../measure/statistics.ts';
import { sizeText, type Figures, type Row } from './figures.ts';
import type { ComparedRows, Subject } from './subject.ts';

interface Comparison {
  ours: Row;
  rival: string;
  size: number;
  /** Above 1 if this service is ahead. */
  ratio: number;
}

/** Differences below this are within the noise of the rounds. */
const LEVEL = 1.05;

/** Joins with commas and a final "and". */
const list = new Intl.ListFormat('en-GB');

const SERVER_WITH_SERVER: ComparedRows = {
  us: 'this service',
  isPair: (ours, rival) => isService(ours.candidate) && !isService(rival.candidate) && ours.work === rival.work,
  labelOf: ({ candidate }) => candidate,
};

/** Whether the candidate is this service. */
export function isService(candidate: string): boolean {
  return Object.values(SERVICE_NAMES).includes(candidate);
}

/**
 * Says who is ahead and by how much, rivals that are ahead of this service first. Null if nothing was compared. `loss` is
 * the largest lead of a rival; 1 if there is none.
 */
export function compare(figures: Figures, subject: Subject): { text: string; loss: number } | null {
  const { rows: { us } = SERVER_WITH_SERVER, whyBehind, whyAhead } = subject;
  const all = comparisonsOf(figures, subject).sort((a, b) => a.ratio - b.ratio);
  const byRival = [...Map.groupBy(all, ({ rival }) => rival)].flatMap(([name, own]) => {
    const [worst, best] = [own[0], own.at(-1)];
    return worst === undefined || best === undefined ? [] : [{ name, worst, best }];
  });
  const behind = byRival.filter(({ worst }) => worst.ratio < 1 / LEVEL);
  const ahead = byRival.filter(({ best }) => best.ratio >= LEVEL);
  const level = byRival.filter((rival) => !behind.includes(rival) && !ahead.includes(rival)).map(({ name }) => name);
  const losses = behind.map(({ name, worst }, index) => {
    return `${name}${index === 0 ? ' is ahead' : ''} by up to ${factor(1 / worst.ratio)} times (${detail(worst, all)})`;
  });
  const wins = ahead.map(({ name, worst, best }) =>
    worst.ratio < 1 / LEVEL
      ? `${name} by up to ${factor(best.ratio)} times (${detail(best, all)})`
      : `${name} by ${[...new Set([worst.ratio, best.ratio].map(factor))].join(' to ')} times`,
  );
  const clauses = [
    ...(losses.length > 0 ? [`${list.format(losses)}, because ${whyBehind}`] : []),
    ...(wins.length > 0 && whyAhead !== undefined
      ? [`${us} is ahead of ${list.format(wins)}, because ${whyAhead}`]
      : []),
    ...(level.length > 0 ? [`${us} is level with ${list.format(level)}`] : []),
  ].join('; ');
  if (clauses === '') return null;
  return {
    text: `${clauses.charAt(0).toUpperCase()}${clauses.slice(1)}.`,
    loss: Math.max(1, 1 / (all[0]?.ratio ?? 1)),
  };
}

function comparisonsOf(figures: Figures, { part, columns, better, rows }: Subject): Comparison[] {
  const { isPair, labelOf } = rows ?? SERVER_WITH_SERVER;
  const unit = columns[0] ?? 's';
  const all = figures.rowsOf(part, [unit]);
  return figures.sizesOf(part).flatMap((size) =>
    all.flatMap((ours) =>
      all.flatMap((rival) => {
        const engines = [ours, rival].map(({ candidate }) => engineOf(candidate));
        if (engines[0] === null || (engines[1] !== null && engines[1] !== engines[0])) return [];
        const [own = [], other = []] = [ours, rival].map((row) => figures.valuesOf(part, [size], row, unit));
        const ratio = better === 'more' ? ratioOf(own, other) : ratioOf(other, own);
        if (ours === rival || !isPair(ours, rival) || !Number.isFinite(ratio)) return [];
        return [{ ours, rival: labelOf(rival), size, ratio }];
      }),
    ),
  );
}

/**
 * The median of the ratios round by round, since the rounds of two servers follow each other and a machine that slows down
 * slows both; of the medians, if rounds were left out.
 */
function ratioOf(values: readonly number[], others: readonly number[]): number {
  if (values.length !== others.length) return median(values) / median(others);
  return median(values.map((value, round) => value / (others[round] ?? NaN)));
}

/** The work, size and engine of a comparison, without those that all have in common. */
function detail({ ours, size }: Comparison, all: readonly Comparison[]): string {
  const differs = (valueOf: (one: Comparison) => unknown): boolean => new Set(all.map(valueOf)).size > 1;
  return [
    ...(differs((one) => one.ours.work) ? [ours.work] : []),
    sizeText(size),
    ...(differs((one) => one.ours.candidate) ? [engineOf(ours.candidate)] : []),
  ].join(', ');
}

/** The engine in the name of a row of this service; null for other servers. */
export function engineOf(candidate: string): 'SQLite' | 'PostgreSQL' | null {
  if (!candidate.includes('this service')) return null;
  return candidate.endsWith('SQLite') ? 'SQLite' : 'PostgreSQL';
}

function factor(ratio: number): string {
  return ratio >= 10 ? Math.round(ratio).toLocaleString('en-US') : ratio.toFixed(1);
}

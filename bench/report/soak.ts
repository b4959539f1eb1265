import type { Night, PassedSoak, SoakMinute } from '../measure/nights.ts';
import { ENGINE_NAMES, newestOf } from './bounds.ts';
import { readable } from './figures.ts';

export type Soak = Night & PassedSoak;

/** The longest soak of the newest version on each engine. */
export function longestSoaks(nights: readonly Night[]): Soak[] {
  const soaks = nights.filter((night) => 'byMinute' in night);
  const newest = soaks.filter(({ version }) => version === newestOf(soaks));
  return [...Map.groupBy(newest, ({ engine }) => engine).values()].flatMap((own) =>
    own.toSorted((a, b) => b.byMinute.length - a.byMinute.length).slice(0, 1),
  );
}

/** Renders what a soak did, and what it saw. */
export function soakText({ engine, version, processes, requests, imports, byMinute }: Soak): string {
  const rangeOf = (unit: keyof SoakMinute): string => {
    const values = byMinute.map((minute) => minute[unit]);
    return `${readable(Math.min(...values))} to ${readable(Math.max(...values))}`;
  };
  return (
    `Version ${version} on ${ENGINE_NAMES[engine]}, ${processes} processes, ${byMinute.length} minutes: ` +
    `${requests.toLocaleString('en-US')} requests of every kind, while ${imports.toLocaleString('en-US')} imports ran and keys ` +
    `and grants changed. Every response was right. In each minute, the processes together had at most ${rangeOf('mb')} MB, ` +
    `p50 was ${rangeOf('p50Ms')} ms, p99 ${rangeOf('p99Ms')} ms, and the longest response took ${rangeOf('longestMs')} ms.`
  );
}

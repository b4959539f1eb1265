import { SERVICE_NAMES } from '../candidates/service.ts';
import { ENGINES, type Engine } from '../market/databases.ts';
import type { Bound, Night } from '../measure/nights.ts';
import type { Unit } from '../measure/results.ts';
import { AFTER_PAGES } from '../parts/memory.ts';
import { isService } from './comparison.ts';
import { readable, type Figures } from './figures.ts';

/** The limits that the guides promise, by the name of a bound. */
const PROMISED: Readonly<Record<string, string>> = {
  'older state after a commit': '1,000 ms',
  'a revoked key works, during failovers': '30,000 ms',
};

export const ENGINE_NAMES = { sqlite: 'SQLite', postgres: 'PostgreSQL' } as const satisfies Record<Engine, string>;

/** Renders how many histories the newest version has passed, and the largest values that nights and the bench saw. */
export function boundsText(figures: Figures, nights: readonly Night[]): string {
  const histories = nights.filter((night) => 'histories' in night);
  const newest = newestOf(histories);
  const passed = ENGINES.flatMap((engine) => {
    const own = histories.filter((night) => night.version === newest && night.engine === engine);
    const sum = (name: 'histories' | 'steps' | 'syncs'): string =>
      own.reduce((total, night) => total + night[name], 0).toLocaleString('en-US');
    return own.length === 0
      ? []
      : [
          `on ${ENGINE_NAMES[engine]} ${sum('histories')} with ${sum('steps')} steps and ${sum('syncs')} compared syncs`,
        ];
  });
  const recorded = Map.groupBy(nights.filter((night) => 'bound' in night), ({ bound }) => bound); // prettier-ignore
  const bounds = [...recorded.values()].flatMap((own) => own.filter(({ version }) => version === newestOf(own)));
  const rows = [...Map.groupBy([...bounds, ...fromBench(figures)], ({ bound }) => bound)].map(([bound, own]) => {
    const cells = ENGINES.flatMap((engine) => {
      const ofEngine = own.filter((one) => one.engine === engine);
      if (ofEngine.length === 0) return ['', ''];
      const max = Math.max(...ofEngine.map((one) => one.max));
      const trials = ofEngine.reduce((sum, one) => sum + one.trials, 0);
      return [`${readable(max)} ${ofEngine[0]?.unit}`, trials.toLocaleString('en-US')];
    });
    return `| ${[bound, PROMISED[bound] ?? '', ...cells].join(' | ')} |`;
  });
  return [
    ...(passed.length === 0
      ? []
      : [`Version ${newest} has passed random histories, each with a seed of its own: ${passed.join(', ')}.`]),
    'The largest value that any trial saw. Trials are changes, failovers, requests, or measurements of memory. Nights may share ' +
      'their machine with other work.',
    ['| bound | promised | SQLite | trials | PostgreSQL | trials |', '| - | -: | -: | -: | -: | -: |', ...rows].join(
      '\n',
    ),
  ].join('\n\n');
}

/** Of a bound that the newest version did not measure yet, the report has the figures of the version before. */
export const newestOf = (nights: readonly Night[]): string =>
  nights.map(({ version }) => version).sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1) ?? ''; // prettier-ignore

/** The longest waits and the largest memory of this service at any size, in any round. */
function fromBench(figures: Figures): Bound[] {
  const largest = (part: string, unit: Unit, nameOfBound: (work: string) => string): Bound[] =>
    figures
      .rowsOf(
        part,
        [unit],
        ({ work, candidate }) => isService(candidate) && (part !== 'waits' || work.includes('beside')),
      )
      .map((row) => {
        const all = (one: Unit): number[] => figures.valuesOf(part, figures.sizesOf(part), row, one);
        const requests = all('requests').reduce((sum, count) => sum + count, 0);
        return {
          bound: nameOfBound(row.work),
          engine: row.candidate === SERVICE_NAMES.sqlite ? 'sqlite' : 'postgres',
          unit: unit === 'MB' ? 'MB' : 'ms',
          max: Math.max(...all(unit)),
          trials: requests === 0 ? all(unit).length : requests,
        };
      });
  return [
    ...largest('waits', 'longest ms', (work) => `wait of another partner, ${work.replace('list page, ', '')}`),
    ...largest('memory', 'MB', (work) => `memory ${work === AFTER_PAGES ? 'at rest' : work}`),
  ];
}

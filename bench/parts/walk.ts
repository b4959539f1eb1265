import { addressOf } from '../candidates/question.ts';
import { walkList } from '../load/walk.ts';
import type { Part } from '../measure/context.ts';
import { note } from '../measure/progress.ts';
import { newBound } from '../measure/questions.ts';

const BOUND = 300_000_000;
const MAX_PAGE_SIZE = 100;

/** Full listings take long, and more rounds add no information. */
const MAX_ROUNDS = 3;

export const walk: Part = {
  name: 'walk',
  title: 'Walk of all solicitations, 100 a page',
  async run(context) {
    const { settings, store, market } = context;
    const running = await context.services();
    const rates = running.map((): number[] => []);
    for (let round = 0; round < Math.min(settings.rounds, MAX_ROUNDS); round++) {
      for (const [index, service] of running.entries()) {
        // A cursor belongs to its filters, so a new bound makes every page of the listing an uncached one.
        const path = addressOf(
          { kind: 'list', limit: MAX_PAGE_SIZE, filters: { closingAfter: newBound(BOUND + round) } },
          undefined,
        );
        const { records, seconds } = await walkList({ port: service.port, headers: service.headers(round), path });
        rates[index]?.push(records / seconds);
        note(`walk, ${service.name}: ${records} records in ${seconds.toFixed(1)} s`);
      }
    }
    const base = { part: 'walk', work: 'walk, 100 a page', size: market.solicitations };
    for (const [index, { name }] of running.entries()) {
      store.add({ ...base, candidate: name, unit: 'records/s', values: rates[index] ?? [] });
    }
  },
};

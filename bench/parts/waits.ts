import { startService, type RunningService } from '../candidates/service.ts';
import { askOneAtATime, readStream, type TimedResponse } from '../load/clients.ts';
import { fewRounds, type BenchContext, type Part } from '../measure/context.ts';
import { recordTimes } from '../measure/one-at-a-time.ts';
import { everyCombination, listQuestions, requestsFor } from '../measure/questions.ts';

/** A smoke run takes every 50th combination. */
const SMOKE_STEP = 50;

/** The partner that waits, and the one that it waits for. */
const [WAITING, BUSY] = [0, 1];

export const ALONE = 'list page, alone';

export const waits: Part = {
  name: 'waits',
  title: "Another partner's list pages, alone and beside a stream and the worst searches",
  async run(context) {
    const { settings, market, scratch } = context;
    for (let round = 0; round < fewRounds(settings); round++) {
      for (const engine of settings.engines) {
        // A new process for each round, since a combination of filters is only slow for the first time.
        const service = await startService(engine, market.databases[engine], scratch);
        try {
          await measureWaits(context, service);
        } finally {
          await service.stop();
        }
      }
    }
  },
};

async function measureWaits(context: BenchContext, service: RunningService): Promise<void> {
  const { settings, market } = context;
  const { port } = service;
  const ask = (): Promise<TimedResponse[]> => {
    const requests = requestsFor(listQuestions(context, settings.samples));
    return askOneAtATime({ port, headers: service.headers(WAITING), requests });
  };
  await ask();
  recordTimes(context, ALONE, service.name, await ask());

  const isEnough = { value: false };
  const streams = (async () => {
    const stream = { port, path: '/v1/solicitations?format=ndjson', headers: service.headers(BUSY) };
    while (!isEnough.value) await readStream({ ...stream, file: null }, true);
  })();
  const besideStream = await ask();
  isEnough.value = true;
  await streams;
  recordTimes(context, 'list page, beside a stream at full speed', service.name, besideStream);

  const step = settings.isSmoke ? SMOKE_STEP : 1;
  const requests = everyCombination(market.facts, service.database.changedSince).filter(
    (_, index) => index % step === 0,
  );
  const isDone = { value: false };
  const combinations = askOneAtATime({ port, headers: service.headers(BUSY), requests }, true).finally(() => {
    isDone.value = true;
  });
  const besideFilters: TimedResponse[] = [];
  while (!isDone.value) besideFilters.push(...(await ask()));
  recordTimes(context, 'every combination of filters, first time', service.name, await combinations);
  recordTimes(context, 'list page, beside every combination of filters', service.name, besideFilters);
}

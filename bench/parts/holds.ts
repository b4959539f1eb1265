import { SERVICE_NAMES } from '../candidates/service.ts';
import { COMMON_WORD, RARE_WORDS, TWO_WORDS } from '../dataset/search-words.ts';
import type { HttpRequest } from '../load/load.ts';
import type { ServiceDatabase } from '../market/market.ts';
import type { MarketFacts } from '../market/facts.ts';
import { measureCold, reportCold } from '../measure/cold.ts';
import type { Part } from '../measure/context.ts';
import { filterCounts, searchQuestions, warmUpWords, wordCounts } from '../measure/questions.ts';
import { addressOf } from '../candidates/question.ts';
import { combinationsOf, type FilterValues } from '../../test/support/records/filter-combinations.ts';

/** A smoke run takes every 150th combination. */
const SMOKE_STEP = 150;

const WARM_UP_BOUND = 8_000_000;
const WARM_UP_COUNTS = 200;

export const holds: Part = {
  name: 'holds',
  title: 'Holds of the event loop, over every shape of question',
  async run(context) {
    const { market, settings, size } = context;
    for (const engine of settings.engines) {
      const database = market.databases[engine];
      const { everything, middle, narrow } = database.keys;
      const keys = [everything[0] ?? '', middle, narrow];
      const step = settings.isSmoke ? SMOKE_STEP : 1;
      const requests = shapes(market.facts, database).filter((_, index) => index % step === 0);
      const responses = await measureCold(context, {
        engine,
        database,
        warmUp: keys.map((key) => ({ key, requests: warmUpRequests(market.facts) })),
        measured: keys.map((key) => ({ key, requests })),
        withNextPages: true,
        withHolds: true,
      });
      const base = { part: holds.name, size, candidate: SERVICE_NAMES[engine] };
      reportCold(context, { ...base, work: 'longest hold of the event loop', measure: 'holdMs' }, responses.flat());
    }
  },
};

/** Every combination of filters, for every list and for counts, with both very common and rare values. */
function shapes(facts: MarketFacts, { changedSince }: ServiceDatabase): HttpRequest[] {
  const q = [COMMON_WORD, RARE_WORDS[0] ?? '', TWO_WORDS, 'a b c', 's', 'co in re'];
  const owner = [facts.largestLeadEntity, facts.smallestLeadEntity];
  const solicitations: FilterValues = {
    q,
    status: ['open', 'cancelled'],
    lead_entity: owner,
    closing_after: ['2016-06-01T00:00:00Z', '2026-06-01T00:00:00Z'],
    closing_before: ['2026-06-20T00:00:00Z'],
    updated_since: [changedSince],
  };
  const contracts: FilterValues = {
    q,
    lead_entity: owner,
    coop: [facts.commonCoop],
    supplier: [facts.commonSupplier],
    city_service: [facts.commonCityService],
    updated_since: [changedSince],
  };
  const suppliers: FilterValues = {
    q,
    state: [facts.commonState],
    city_service: [facts.commonCityService],
    updated_since: [changedSince],
  };
  return [
    ...combinationsOf(solicitations).map((query) => `/v1/solicitations?${query}`),
    ...combinationsOf(solicitations).map((query) => `/v1/solicitations/count?${query}`),
    ...combinationsOf(contracts).map((query) => `/v1/contracts?${query}`),
    ...combinationsOf(suppliers).map((query) => `/v1/suppliers?${query}`),
    ...combinationsOf({ q }).map((query) => `/v1/certifications?${query}`),
    ...['/v1/lead-entities', '/v1/coops', '/v1/city-services'],
    ...['/v1/solicitations?limit=100', '/v1/contracts?limit=100', '/v1/suppliers?limit=100'],
  ].map((path) => ({ path }));
}

/** Searches and counts with words that are not measured. */
function warmUpRequests(facts: MarketFacts): HttpRequest[] {
  const questions = [
    ...filterCounts(facts, WARM_UP_COUNTS, WARM_UP_BOUND),
    ...wordCounts(warmUpWords(), WARM_UP_BOUND),
    ...searchQuestions(warmUpWords(), WARM_UP_COUNTS, WARM_UP_BOUND),
  ];
  return questions.map((question) => ({ path: addressOf(question, undefined) }));
}

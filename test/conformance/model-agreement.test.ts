import { test } from 'vitest';
import { forAllTests } from '../support/lifetimes.ts';
import type { TestPartner } from '../support/partners.ts';
import { numberOfRuns } from '../support/runs.ts';
import { TEST_NOW } from '../support/service.ts';
import { PARTNERS, startModelledService } from './modelled-service.ts';
import { ResponseCheck } from './response-check.ts';

/** For each of the six partners: 720 requests in total, or 2,100. */
const REQUESTS_PER_PARTNER = numberOfRuns({ usually: 120, nightly: 350 });

const started = forAllTests(() => startModelledService(1), 120_000);

test.each(PARTNERS)(
  'every list, count and record for the partner "$name" equals plain filters over all records',
  async ({ name }) => {
    const { service, model } = started;
    const partner = service.partner(name);
    const responses = new ResponseCheck(model, service.get, () => TEST_NOW);
    await responses.check(partner, eventsOf(partner), 20_260_415, REQUESTS_PER_PARTNER);
  },
  120_000,
);

/** The timestamps around which `updated_since` makes a difference. */
function eventsOf({ scope }: TestPartner): string[] {
  const granted = [scope.everythingSince, ...Object.values(scope.leadEntities), ...Object.values(scope.coops)];
  return [...started.service.published.map(({ publishedAt }) => publishedAt), ...granted.filter((at) => at !== null)];
}

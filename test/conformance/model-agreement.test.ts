import fc from 'fast-check';
import { beforeAll, test } from 'vitest';
import type { Model } from '../model/model.ts';
import { requestsAbout } from '../model/requests.ts';
import { forAllTests } from '../support/lifetimes.ts';
import type { TestPartner } from '../support/partners.ts';
import { numberOfRuns } from '../support/runs.ts';
import { TEST_NOW, type TestService } from '../support/service.ts';
import { PARTNERS, startModelledService } from './modelled-service.ts';
import { ResponseCheck } from './response-check.ts';

/** For each of the six partners: 720 requests in total, or 2,100. */
const REQUESTS_PER_PARTNER = numberOfRuns({ usually: 120, nightly: 350 });

let service: TestService;
let model: Model;

const started = forAllTests(() => startModelledService(1), 120_000);
beforeAll(() => {
  ({ service, model } = started);
}, 120_000);

test.each(PARTNERS)(
  'every list, count and record for the partner "$name" equals plain filters over all records',
  async ({ name }) => {
    const partner = service.partner(name);
    const responses = new ResponseCheck(model, service.get, () => TEST_NOW);
    const requests = requestsAbout(model, eventsOf(partner));
    await fc.assert(
      fc.asyncProperty(requests, (request) => responses.check(partner, request)),
      {
        seed: 20_260_415,
        numRuns: REQUESTS_PER_PARTNER,
        interruptAfterTimeLimit: 100_000,
        markInterruptAsFailure: true,
      },
    );
  },
  120_000,
);

/** The timestamps around which `updated_since` makes a difference. */
function eventsOf({ scope }: TestPartner): string[] {
  const granted = [scope.everythingSince, ...Object.values(scope.leadEntities), ...Object.values(scope.coops)];
  return [...service.published.map(({ publishedAt }) => publishedAt), ...granted.filter((at) => at !== null)];
}

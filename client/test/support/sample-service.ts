import { fileURLToPath } from 'node:url';
import { forAllTests } from '../../../test/support/lifetimes.ts';
import { startService, type TestService } from '../../../test/support/service.ts';

const SAMPLE = fileURLToPath(new URL('../../../sample', import.meta.url));

/** Starts the service with the sample data and three partners: full access, suppliers only, and 2 requests a minute. */
export function startSampleService(): Promise<TestService> {
  return startService({
    directories: [SAMPLE],
    partners: [
      { name: 'all', everything: true },
      { name: 'suppliers-only', everything: true, kinds: ['suppliers'] },
      { name: 'rare', everything: true, requestsPerMinute: 2 },
    ],
  });
}

/** The same for all tests of the file or `describe`. */
export const sampleServiceForAllTests = (): TestService => forAllTests(startSampleService);

import { fileURLToPath } from 'node:url';
import { startService, type TestService } from '../../../test/support/service.ts';

const SAMPLE = fileURLToPath(new URL('../../../sample', import.meta.url));

/** The real service with the demonstration's records, and partners that see all, may not see contracts, or ask rarely. */
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

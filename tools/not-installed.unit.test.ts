import { test } from 'vitest';

// Runs in place of the tests in tools/test if their packages are missing, so that these count as skipped.

test.skip('the tests of tools/ need: npm ci --prefix tools', () => undefined);

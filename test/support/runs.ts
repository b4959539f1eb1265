import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** True in `npm run test:nightly`. */
    isNightly: boolean;
  }
}

/** The number of examples of a property test: more in `npm run test:nightly`. */
export function numberOfRuns({ usually, nightly }: { usually: number; nightly: number }): number {
  return inject('isNightly') ? nightly : usually;
}

import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** True in `npm test`; false in `npm run test:all`, and if a file is run by name. */
    isDefaultSet: boolean;
  }
}

/** The number of examples of a property test: fewer in `npm test`. */
export function numberOfRuns({ inDefaultSet, otherwise }: { inDefaultSet: number; otherwise: number }): number {
  return inject('isDefaultSet') ? inDefaultSet : otherwise;
}

import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether `npm test` runs, and not `npm run test:all` or a file by its name. */
    isDefaultSet: boolean;
  }
}

/** How many examples a property test tries: fewer in `npm test`, all everywhere else. */
export function numberOfRuns({ inDefaultSet, otherwise }: { inDefaultSet: number; otherwise: number }): number {
  return inject('isDefaultSet') ? inDefaultSet : otherwise;
}

import { ACCESS } from './access.ts';
import { ENGINES } from './engines.ts';
import { IMPORTS } from './imports.ts';
import { LISTS } from './lists.ts';
import type { Mutant } from './mutant.ts';
import { STREAMS } from './streams.ts';

/** All planted faults. */
export const MUTANTS: readonly Mutant[] = [...ACCESS, ...LISTS, ...STREAMS, ...IMPORTS, ...ENGINES];

import { ACCESS } from './access.ts';
import { CLIENTS } from './clients.ts';
import { ENGINES } from './engines.ts';
import { FEEDS } from './feed.ts';
import { IMPORTS } from './imports.ts';
import { INDEXES } from './indexes.ts';
import { LIMITS } from './limits.ts';
import { LISTS } from './lists.ts';
import type { Mutant } from './mutant.ts';
import { RECOVERY } from './recovery.ts';
import { STREAMS } from './streams.ts';

/** All planted faults. */
export const MUTANTS: readonly Mutant[] = [
  ...[...ACCESS, ...LISTS, ...STREAMS, ...FEEDS, ...LIMITS],
  ...[...INDEXES, ...IMPORTS, ...RECOVERY, ...ENGINES, ...CLIENTS],
];

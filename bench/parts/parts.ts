import type { Part } from '../measure/context.ts';
import { copies } from './copies.ts';
import { importing } from './import.ts';
import { counts, latency } from './latency.ts';
import { memory } from './memory.ts';
import { again, contracts, detail, list, search } from './pages.ts';
import { versions } from './versions.ts';
import { waits } from './waits.ts';

/** All parts of the benchmark, in the order in which they run. */
export const PARTS: readonly Part[] = [
  list,
  detail,
  contracts,
  search,
  again,
  latency,
  counts,
  waits,
  copies,
  memory,
  importing,
  versions,
];

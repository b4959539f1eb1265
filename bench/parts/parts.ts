import type { Part } from '../measure/context.ts';
import { changes, scope } from './changes.ts';
import { copies } from './copies.ts';
import { importing } from './import.ts';
import { countLatency } from './count-latency.ts';
import { disk } from './disk.ts';
import { holds } from './holds.ts';
import { latency, searchLatency } from './latency.ts';
import { memory } from './memory.ts';
import { contracts, count, deep, detail, list } from './pages.ts';
import { conditional, repeat } from './repeat.ts';
import { search } from './search.ts';
import { skewed } from './skewed.ts';
import { walk } from './walk.ts';
import { workers } from './workers.ts';

/** All parts of the benchmark, in the order in which they run. */
export const PARTS: readonly Part[] = [
  list,
  detail,
  deep,
  contracts,
  search,
  count,
  repeat,
  conditional,
  changes,
  scope,
  latency,
  searchLatency,
  countLatency,
  holds,
  skewed,
  walk,
  copies,
  memory,
  workers,
  disk,
  importing,
];

import type { Unit } from '../measure/results.ts';
import type { Row } from './figures.ts';

/** A table of the report, with what the sentence before it compares, and its chart. */
export interface Subject {
  title: string;
  part: string;
  /** The columns of each size; the first is compared. */
  columns: readonly Unit[];
  /** The heads of columns that are not called by their unit. */
  heads?: Partial<Record<Unit, string>>;
  better: 'more' | 'less';
  rows?: ComparedRows;
  /** Why rivals are ahead, and why this service is; without a reason, that would be noise. */
  whyBehind: string;
  whyAhead?: string;
  chart?: Chart;
}

export interface Chart {
  file: string;
  title: string;
  unit: Unit;
  unitText: string;
  isWanted?: (row: Row) => boolean;
  /** Draws a line over all sizes for each server, in place of bars at the largest size. */
  isBySize?: true;
}

/** Which rows are compared, if it is not this service with every other server that does the same work. */
export interface ComparedRows {
  /** How the sentence calls what is compared. */
  us: string;
  /** Rows of the same engine, or of none. */
  isPair: (ours: Row, rival: Row) => boolean;
  /** How the sentence calls a rival. */
  labelOf: (rival: Row) => string;
}

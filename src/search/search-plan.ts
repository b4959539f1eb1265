import type { OpenDatabase } from '../database/database.ts';
import type { SlotValues } from '../database/statement.ts';
import { Fts5Planner } from './fts5-planner.ts';
import { GinPlanner } from './gin-planner.ts';
import type { DeadlineWindow, Marks } from './marks.ts';
import type { SearchedTable } from './search-index.ts';
import { queryWords, type QueryWord } from './words.ts';

/**
 * How a search finds its records in the order of a list:
 * - `nothing`: no record can match.
 * - `index`: the search index gives the records, and the other conditions are looked at on each.
 * - `entries`: the entries of the index are read one after the other, and the records of those that match looked at.
 * - `check`: the walk of the list gives the records, and the words are looked up for each.
 */
export type SearchMode = 'nothing' | 'index' | 'entries' | 'check';

export interface SearchPlan {
  readonly mode: SearchMode;
  readonly values: SlotValues;
  /** The publication at which the words were read; null where none were. What is asked with the plan has to see the same. */
  readonly asOf: string | null;
}

export interface SearchQuestion {
  readonly q: string;
  /** What the records have to be besides. Their conditions may be looked at again on each record. */
  readonly marks: Marks;
  /** When they close; null for any time and none. */
  readonly window: DeadlineWindow | null;
  /** Whether there is a walk of the records that changed since an instant. */
  readonly isSince: boolean;
  /** Whether all records of new grants are among them, which makes these walks many. */
  readonly hasNewGrants: boolean;
  /** Whether a plan of before was made at an earlier publication. */
  readonly isFresh: boolean;
}

/** A question of at least one word, and of marks that something can have. */
export interface WordQuestion extends Omit<SearchQuestion, 'q'> {
  readonly words: readonly QueryWord[];
}

/** What knows how one database's index is asked. */
export interface EnginePlanner {
  plan(question: WordQuestion): Promise<SearchPlan>;
  /** Gives `match` for what is counted in the index alone, and `edge_match` for what is looked at besides. */
  planCount(question: WordQuestion): Promise<SearchPlan>;
  /** Whether all that the index gives for a plan is looked at within milliseconds. */
  hasFewMatches(plan: SearchPlan): boolean | Promise<boolean>;
}

const NOTHING: SearchPlan = { mode: 'nothing', values: {}, asOf: null };

/** Decides how a search is done, by how frequent the words are, which the databases' planners do not know. */
export class SearchPlanner {
  readonly #planner: EnginePlanner;

  constructor(database: OpenDatabase, table: SearchedTable) {
    this.#planner = database.engine === 'sqlite' ? new Fts5Planner(database, table) : new GinPlanner(database, table);
  }

  /** For a page of a list. */
  async plan(question: SearchQuestion): Promise<SearchPlan> {
    const asked = withWords(question);
    return asked === null ? NOTHING : this.#planner.plan(asked);
  }

  /** For a count: whatever the words are, the index gives what matches. */
  async planCount(question: SearchQuestion): Promise<SearchPlan> {
    const asked = withWords(question);
    return asked === null ? NOTHING : this.#planner.planCount(asked);
  }

  /** Whether all that the index gives for a plan is looked at within milliseconds. */
  async hasFewMatches(plan: SearchPlan): Promise<boolean> {
    return plan.mode === 'nothing' || (await this.#planner.hasFewMatches(plan));
  }
}

function withWords({ q, ...question }: SearchQuestion): WordQuestion | null {
  const words = queryWords(q);
  return words.length === 0 || question.marks.some((oneOf) => oneOf.length === 0) ? null : { ...question, words };
}

import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { createClient } from '../support/client.ts';
import { solicitation, type ImportLines } from '../support/publishing.ts';

/** How many records each version of the catalog has. */
export const RECORDS = 300;

/** The same records in each version, all of which name it. */
export function catalogVersion(number: number): ImportLines {
  return {
    'lead-entities': [{ id: 'le_a', name: `City version${number}` }],
    solicitations: Array.from({ length: RECORDS }, (_, index) => ({
      ...solicitation(`sol_${index}`, index + 1),
      title: `Solicitation version${number}`,
      description: `Paving of Main Street, as of version${number}. `.repeat(20),
    })),
  };
}

/** The version that every one of these finished texts names. */
export function versionOf(documents: readonly string[]): number {
  const versions = new Set(documents.flatMap((text) => [...text.matchAll(/version(\d+)/g)].map(([, found]) => found)));
  expect([...versions]).toHaveLength(1);
  return Number([...versions][0]);
}

/** A partner that asks all the time, and what it saw. */
export interface Watch {
  /** Waits until it was shown this version; throws where something was not a whole, right answer before. */
  until(version: number): Promise<void>;
  /** Ends it; throws where something was not a whole, right answer, or of no version that may be seen. */
  end(allowed: readonly number[]): Promise<{ answers: number }>;
}

/**
 * Asks again and again, for pages that may be kept and for ones that cannot be: each answer has to
 * be 200 and of one version. Whichever is shown may change to and fro for a second after a publication.
 */
export function watch(port: number, key: string): Watch {
  const client = createClient(`http://127.0.0.1:${port}`);
  const seen = new Set<number>();
  const failures: string[] = [];
  const state = { isOver: false, answers: 0 };
  const ask = async (): Promise<void> => {
    for (const limit of [100, 1 + (state.answers % 100)]) {
      const { status, body } = await client.get(`/v1/solicitations?limit=${limit}`, { key });
      if (status !== 200) throw new Error(`${status} ${body}`);
      seen.add(versionOf([body]));
      state.answers += 1;
    }
  };
  const asking = (async () => {
    while (!state.isOver) {
      await ask().catch((error: unknown) => failures.push(String(error)));
      // So that the command under test gets its share of the machine.
      await delay(5);
    }
  })();
  return {
    async until(version) {
      while (!seen.has(version) && failures.length === 0) await delay(10);
      expect(failures).toEqual([]);
    },
    async end(allowed) {
      state.isOver = true;
      await asking;
      client.close();
      expect(failures).toEqual([]);
      expect(allowed).toEqual(expect.arrayContaining([...seen]));
      return { answers: state.answers };
    },
  };
}

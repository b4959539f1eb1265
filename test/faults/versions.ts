import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { createClient } from '../support/client.ts';
import { solicitation, type ImportLines } from '../support/publishing.ts';

/** The number of records in each version of the catalog. */
export const RECORDS = 300;

/** A version of the catalog: always the same records, each with the version in its text. */
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

/** The version in these documents; asserts that they all have the same one. */
export function versionOf(documents: readonly string[]): number {
  const versions = new Set(documents.flatMap((text) => [...text.matchAll(/version(\d+)/g)].map(([, found]) => found)));
  expect([...versions]).toHaveLength(1);
  return Number([...versions][0]);
}

export type Watch = ReturnType<typeof watch>;

/**
 * Sends requests continuously, for pages that can be cached and for pages that cannot: each response must be a 200 and
 * of a single version. For a second after an import, either version can appear.
 */
export function watch(port: number, key: string) {
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
      // Leaves CPU time to the command under test.
      await delay(5);
    }
  })();
  return {
    /** Waits until it has seen this version; throws if any response so far was wrong or incomplete. */
    async until(version: number): Promise<void> {
      while (!seen.has(version) && failures.length === 0) await delay(10);
      expect(failures).toEqual([]);
    },
    /** Stops it; throws if any response was wrong, incomplete, or of a version other than these. */
    async end(allowed: readonly number[]): Promise<{ answers: number }> {
      state.isOver = true;
      await asking;
      client.close();
      expect(failures).toEqual([]);
      expect(allowed).toEqual(expect.arrayContaining([...seen]));
      return { answers: state.answers };
    },
  };
}

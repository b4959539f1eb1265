import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Answer, Ask } from '../support/client.ts';

/** Everything works within one second of the primary's return; the rest is for a machine busy with other tests. */
const RECOVERY_MS = 1_000 + 2_000;

/** A request that cannot be served fails within two seconds; the rest as above. */
const MAX_REFUSAL_MS = 2_000 + 2_000;

const PAUSE_MS = 50;

/** At this many runnable processes per core, a running server can be silent for a second, and so counts as down. */
const STARVED_LOAD = 4;

function isStarved(): boolean {
  return (loadavg()[0] ?? 0) > STARVED_LOAD * availableParallelism();
}

/** Tracks when the primary is unreachable: only then is a partner allowed to see a 500. */
export class Outages {
  #isAway = false;
  #endedAtMs = Number.NEGATIVE_INFINITY;

  /** Marks the primary, or what is in front of it, as down while `work` runs. */
  async during(work: () => Promise<unknown>): Promise<void> {
    this.#isAway = true;
    await work();
    this.#endedAtMs = performance.now();
    this.#isAway = false;
  }

  /** Whether a failure is excused: by an outage since the request, or by an overloaded machine. */
  excuse(askedAtMs: number): boolean {
    return this.#isAway || askedAtMs < this.#endedAtMs + RECOVERY_MS || isStarved();
  }
}

/**
 * A partner's client that follows the guide: it retries a 500 after a pause. It throws if a 500 is not excused by an
 * outage, comes late, or lacks the error envelope.
 */
export class PatientClient {
  readonly #ask: Ask;
  readonly #outages: Outages;
  #asked = 0;

  constructor(ask: Ask, outages: Outages) {
    this.#ask = ask;
    this.#outages = outages;
  }

  readonly get: Ask = async (path, options) => {
    for (;;) {
      const askedAtMs = performance.now();
      const answer = await this.#ask(path, options);
      this.#asked += 1;
      if (answer.status !== 500) return answer;
      expect(this.#outages.excuse(askedAtMs), `${path}: ${answer.body}`).toBe(true);
      expect(performance.now() - askedAtMs).toBeLessThan(MAX_REFUSAL_MS);
      expectEnvelope(answer);
      await delay(PAUSE_MS);
    }
  };

  /**
   * Waits until this many more requests have been made, whatever their responses.
   *
   * @throws if `signal` is aborted.
   */
  async answered(more: number, signal: AbortSignal): Promise<void> {
    const enough = this.#asked + more;
    while (this.#asked < enough) await delay(10, undefined, { signal });
  }
}

function expectEnvelope({ body, headers }: Answer): void {
  expect(JSON.parse(body)).toEqual({
    error: {
      code: 'internal_error',
      message: expect.stringMatching(/\S/) as string,
      request_id: headers['x-request-id'],
    },
  });
}

import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Answer, Ask } from '../support/client.ts';

/** All is answered again within a second of the return; the rest is for a machine that is busy with other tests. */
const RECOVERY_MS = 1_000 + 2_000;

/** An answer that cannot be given is refused within two seconds; the rest as above. */
const LONGEST_REFUSAL_MS = 2_000 + 2_000;

const PAUSE_MS = 50;

/** Waiting for one of so many on each core, a server that is there is silent for a second now and then, which is to be away. */
const STARVED_LOAD = 4;

function isStarved(): boolean {
  return (loadavg()[0] ?? 0) > STARVED_LOAD * availableParallelism();
}

/** When the primary cannot be reached: then, and then alone, a partner may see a 500. */
export class Outages {
  #isAway = false;
  #endedAtMs = Number.NEGATIVE_INFINITY;

  /** Lets the primary, or what stands before it, be away while `work` runs. */
  async during(work: () => Promise<unknown>): Promise<void> {
    this.#isAway = true;
    await work();
    this.#endedAtMs = performance.now();
    this.#isAway = false;
  }

  /** Whether one was under way when this was asked, or later. */
  excuse(askedAtMs: number): boolean {
    return this.#isAway || askedAtMs < this.#endedAtMs + RECOVERY_MS || isStarved();
  }
}

/**
 * A partner's program that does what the guide says about a 500: it tries again after a moment.
 * Fails where there is one that no outage excuses, that comes late, or without the envelope.
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
      expect(performance.now() - askedAtMs).toBeLessThan(LONGEST_REFUSAL_MS);
      expectEnvelope(answer);
      await delay(PAUSE_MS);
    }
  };

  /**
   * Until so many more requests were answered, whatever the answers were.
   *
   * @throws where `signal` says that none will be.
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

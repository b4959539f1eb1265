import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { HttpResponse, Get } from '../support/client.ts';

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
  #isDown = false;
  #endedAtMs = Number.NEGATIVE_INFINITY;

  /** Marks the primary, or what is in front of it, as down while `work` runs. */
  async during(work: () => Promise<unknown>): Promise<void> {
    this.#isDown = true;
    await work();
    this.#endedAtMs = performance.now();
    this.#isDown = false;
  }

  /** Whether a failure is excused: by an outage since the request, or by an overloaded machine. */
  excuse(sentAtMs: number): boolean {
    return this.#isDown || sentAtMs < this.#endedAtMs + RECOVERY_MS || isStarved();
  }
}

/**
 * A partner's client that follows the guide: it retries a 500 after a pause. It throws if a 500 is not excused by an
 * outage, comes late, or lacks the error envelope.
 */
export class PatientClient {
  readonly #send: Get;
  readonly #outages: Outages;
  #sent = 0;

  constructor(send: Get, outages: Outages) {
    this.#send = send;
    this.#outages = outages;
  }

  readonly get: Get = async (path, options) => {
    for (;;) {
      const sentAtMs = performance.now();
      const response = await this.#send(path, options);
      this.#sent += 1;
      if (response.status !== 500) return response;
      expect(this.#outages.excuse(sentAtMs), `${path}: ${response.body}`).toBe(true);
      expect(performance.now() - sentAtMs).toBeLessThan(MAX_REFUSAL_MS);
      expectEnvelope(response);
      await delay(PAUSE_MS);
    }
  };

  /**
   * Waits until this many more requests have been made, whatever their responses.
   *
   * @throws if `signal` is aborted.
   */
  async waitForRequests(more: number, signal: AbortSignal): Promise<void> {
    const enough = this.#sent + more;
    while (this.#sent < enough) await delay(10, undefined, { signal });
  }
}

function expectEnvelope({ body, headers }: HttpResponse): void {
  expect(JSON.parse(body)).toEqual({
    error: {
      code: 'internal_error',
      message: expect.stringMatching(/\S/) as string,
      request_id: headers['x-request-id'],
    },
  });
}

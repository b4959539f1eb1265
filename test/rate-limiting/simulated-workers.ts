import { InMemoryRateLimiter } from '../../src/rate-limiting/in-memory-rate-limiter.ts';
import { countBatch, WorkerRateLimiter, type CountsBatch } from '../../src/rate-limiting/worker-rate-limiter.ts';

/** A primary and its workers in one process, with messages copied as an IPC channel does. */
export class SimulatedWorkers {
  readonly workers: readonly WorkerRateLimiter[];
  readonly logged: string[] = [];
  /** If true, messages to the primary wait until `deliverAll`. */
  isPrimarySilent = false;
  /** Messages that the primary has received. */
  messages = 0;
  readonly #primary: InMemoryRateLimiter;
  readonly #undelivered: (() => void)[] = [];

  constructor(count: number, windowSeconds = 60) {
    this.#primary = new InMemoryRateLimiter(windowSeconds);
    const log = (message: string): void => void this.logged.push(message);
    const logger = { info: log, warn: log };
    this.workers = Array.from({ length: count }, () => {
      const send = (batch: CountsBatch): void => {
        this.#undelivered.push(() => worker.receive(copyOf(countBatch(this.#primary, copyOf(batch)))));
        setImmediate(() => {
          if (!this.isPrimarySilent) this.deliverAll();
        });
      };
      const worker = new WorkerRateLimiter({ windowSeconds, workers: count, send, logger });
      return worker;
    });
  }

  get first(): WorkerRateLimiter {
    const [first] = this.workers;
    if (first === undefined) throw new Error('there are no workers');
    return first;
  }

  /** Delivers all messages to the primary, and its responses. */
  deliverAll(): void {
    for (const deliver of this.#undelivered.splice(0)) {
      this.messages += 1;
      deliver();
    }
  }
}

function copyOf<T>(message: T): T {
  return JSON.parse(JSON.stringify(message)) as T;
}

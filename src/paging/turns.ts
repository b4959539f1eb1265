import { Places } from '../http/places.ts';
import { overloaded } from '../http/errors.ts';

/**
 * Requests whose lists are read in parts at once. Most have a part or two, and are over in a turn
 * each; how long the others may wait for their turns is bounded by `list-parts.ts`.
 */
const MOST_WAITING = 256;

/**
 * Lets the parts of long lists be read one in each turn of the event loop, whoever's they are: Node
 * would else run all that wait in one, and everyone else would wait for them.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  readonly #places = new Places<number>(MOST_WAITING);

  /**
   * Resolves when it is the next one's turn.
   *
   * @param partnerId who waits: nobody may have more waiting than there is room left.
   * @throws ApiError 429 where too many wait already.
   */
  async next(partnerId: number): Promise<void> {
    if (!this.#places.take(partnerId)) throw overloaded();
    const { promise, resolve } = Promise.withResolvers<null>();
    this.#waiting.push(() => resolve(null));
    if (this.#waiting.length === 1) setImmediate(() => this.#run());
    await promise;
    this.#places.giveBack(partnerId);
  }

  #run(): void {
    const next = this.#waiting.shift();
    if (this.#waiting.length > 0) setImmediate(() => this.#run());
    next?.();
  }
}

import type { KyselyPlugin, PluginTransformQueryArgs, PluginTransformResultArgs } from 'kysely';
import type { OpenDatabase } from '../../../src/database/database.ts';

/** Counts a database's statements, and runs a hook before and after each. */
export class Interruption implements KyselyPlugin {
  readonly #before: (statement: number) => void;
  readonly #after: (statement: number) => Promise<void>;
  #sent = 0;

  /**
   * @param before called with the number of each statement, from 1, before it is sent.
   * @param after called with the number once the result has arrived.
   */
  constructor(
    before: (statement: number) => void,
    after: (statement: number) => Promise<void> = async () => undefined,
  ) {
    this.#before = before;
    this.#after = after;
  }

  transformQuery({ node }: PluginTransformQueryArgs): PluginTransformQueryArgs['node'] {
    this.#sent += 1;
    this.#before(this.#sent);
    return node;
  }

  async transformResult({ result }: PluginTransformResultArgs): Promise<PluginTransformResultArgs['result']> {
    await this.#after(this.#sent);
    return result;
  }
}

/** The same database, with its statements counted. */
export function interrupted(database: OpenDatabase, interruption: Interruption): OpenDatabase {
  return { ...database, kysely: database.kysely.withPlugin(interruption) };
}

import type { KyselyPlugin, PluginTransformQueryArgs, PluginTransformResultArgs } from 'kysely';
import type { OpenDatabase } from '../../src/database/database.ts';

/** Counts the statements of a database, and does something before or after one of them. */
export class Interruption implements KyselyPlugin {
  readonly #before: (statement: number) => void;
  readonly #after: (statement: number) => Promise<void>;
  #sent = 0;

  /**
   * @param before told the number of each statement, from 1, before it is sent.
   * @param after told it when its result has come.
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

/** The same database, whose statements are counted. */
export function interrupted(database: OpenDatabase, interruption: Interruption): OpenDatabase {
  return { ...database, kysely: database.kysely.withPlugin(interruption) };
}

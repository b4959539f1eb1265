import type { FastifyBaseLogger } from 'fastify';

type Bindings = Parameters<FastifyBaseLogger['child']>[0];
type Options = Parameters<FastifyBaseLogger['child']>[1];
type Arguments = Parameters<FastifyBaseLogger['info']>;

/**
 * A request's logger, which adds the request ID to each line. Creating a child logger costs more than writing a line,
 * and nearly all requests log nothing through it, so it is created on first use.
 */
class RequestLogger implements FastifyBaseLogger {
  readonly #parent: FastifyBaseLogger;
  readonly #bindings: Bindings;
  readonly #options: Options;
  #made: FastifyBaseLogger | undefined;

  constructor(parent: FastifyBaseLogger, bindings: Bindings, options: Options) {
    this.#parent = parent;
    this.#bindings = bindings;
    this.#options = options;
  }

  get level(): string {
    return this.#logger.level;
  }

  fatal(...line: Arguments): void {
    this.#logger.fatal(...line);
  }

  error(...line: Arguments): void {
    this.#logger.error(...line);
  }

  warn(...line: Arguments): void {
    this.#logger.warn(...line);
  }

  info(...line: Arguments): void {
    this.#logger.info(...line);
  }

  debug(...line: Arguments): void {
    this.#logger.debug(...line);
  }

  trace(...line: Arguments): void {
    this.#logger.trace(...line);
  }

  silent(...line: Arguments): void {
    this.#logger.silent(...line);
  }

  child(bindings: Bindings, options?: Options): FastifyBaseLogger {
    return this.#logger.child(bindings, options);
  }

  get #logger(): FastifyBaseLogger {
    return (this.#made ??= this.#parent.child(this.#bindings, this.#options));
  }
}

/** Creates a request's logger. */
export function makeRequestLogger(parent: FastifyBaseLogger, bindings: Bindings, options: Options): FastifyBaseLogger {
  return new RequestLogger(parent, bindings, options);
}

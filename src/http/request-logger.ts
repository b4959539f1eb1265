import type { FastifyBaseLogger } from 'fastify';

type Bindings = Parameters<FastifyBaseLogger['child']>[0];
type Options = Parameters<FastifyBaseLogger['child']>[1];
type Arguments = Parameters<FastifyBaseLogger['info']>;

/**
 * The logger of one request, which puts the request's id on each line. Making a real one takes
 * longer than writing a line, and nearly all requests are answered without asking theirs for
 * any: so that is done at the first.
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

/** Gives a request its logger. */
export function makeRequestLogger(parent: FastifyBaseLogger, bindings: Bindings, options: Options): FastifyBaseLogger {
  return new RequestLogger(parent, bindings, options);
}

import type { Logger } from 'pino';
import type { PartnerDirectory } from './access/partner-directory.ts';
import type { Config } from './config.ts';
import type { OpenDatabase } from './database/database.ts';
import type { RequestObserver } from './http/request-observers.ts';
import type { Clock } from './instant.ts';

/** What a running server is made of: handed to `buildApp`, and from there to the routes. */
export interface Services {
  readonly config: Config;
  /** Opened for serving. */
  readonly database: OpenDatabase;
  readonly clock: Clock;
  /** Finds the partner behind a key, and its newest scope. */
  readonly directory: PartnerDirectory;
  /** Authenticates cursors; the same for every process that shares the database. */
  readonly cursorSecret: Buffer;
  readonly logger: Logger;
  /** Are told of each request that is over, besides the log. */
  readonly observers: readonly RequestObserver[];
}

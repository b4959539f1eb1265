import type { Logger } from 'pino';
import type { PartnerDirectory } from './access/partner-directory.ts';
import type { Config } from './config.ts';
import type { OpenDatabase } from './database/database.ts';
import type { RequestObserver } from './http/request/observers.ts';
import type { Clock } from './timestamp.ts';

/** The dependencies of routes: without the database, since only a snapshot runs their statements. */
export type RouteServices = Omit<Services, 'database'>;

/** The dependencies of a running server, passed to `buildApp` and from there to the routes. */
export interface Services {
  readonly config: Config;
  readonly database: OpenDatabase;
  readonly clock: Clock;
  readonly directory: PartnerDirectory;
  /** Authenticates cursors; the same in every process that shares the database. */
  readonly cursorSecret: Buffer;
  readonly logger: Logger;
  /** Called for each finished request, in addition to the log. */
  readonly observers: readonly RequestObserver[];
}

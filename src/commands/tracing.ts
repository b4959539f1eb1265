import type { Server } from 'node:http';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { OpenDatabase } from '../database/database.ts';
import type { RequestObserver } from '../http/request-observers.ts';

/** What a serving process does to be traced. */
export interface ServingTraces {
  readonly observe: RequestObserver;
  traceStatements(database: OpenDatabase): OpenDatabase;
  follow(server: Server): void;
  close(): Promise<void>;
}

/**
 * Begins to send traces, where this process's environment names a collector: by the standard
 * variables of OpenTelemetry, https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/.
 *
 * @returns null where it names none.
 * @throws ConfigError where it cannot be done as it is set.
 */
export async function startTracing({ environment }: Config, logger: Logger): Promise<ServingTraces | null> {
  if (!isWanted(process.env)) return null;
  // Loaded where they are needed alone: they take some 40 MB.
  const [{ Tracing }, { traceStatements }] = await Promise.all([
    import('../monitoring/tracing.ts'),
    import('../monitoring/traced-database.ts'),
  ]);
  const tracing = new Tracing(process.env, environment, logger);
  return {
    observe: tracing.observe,
    traceStatements: (database) => traceStatements(database, tracing),
    follow: (server) => tracing.follow(server),
    close: () => tracing.close(),
  };
}

function isWanted(environment: Readonly<Record<string, string | undefined>>): boolean {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: all, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces } = environment;
  const isOff = environment['OTEL_SDK_DISABLED'] === 'true' || environment['OTEL_TRACES_EXPORTER'] === 'none';
  return !isOff && [all, traces].some((endpoint) => endpoint !== undefined && endpoint.trim() !== '');
}

import type { Server } from 'node:http';
import type { Logger } from 'pino';
import { ConfigError, describeOrigin, type Config } from '../../config.ts';
import type { OpenDatabase } from '../../database/database.ts';
import type { RequestObserver } from '../../http/request/request-observers.ts';
import { originOfVariable } from './settings-file.ts';

/** The tracing hooks of a serving process. */
export interface ServingTraces {
  readonly observe: RequestObserver;
  traceStatements(database: OpenDatabase): OpenDatabase;
  follow(server: Server): void;
  close(): Promise<void>;
}

/**
 * Starts sending traces if this process's environment configures a collector, using OpenTelemetry's standard variables:
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/.
 *
 * @returns null if none is configured.
 * @throws ConfigError if the configuration is not supported.
 */
export async function startTracing({ environment }: Config, logger: Logger): Promise<ServingTraces | null> {
  if (!isWanted(process.env)) return null;
  // Loaded only if used: they take about 40 MB.
  const [{ Tracing }, { traceStatements }] = await Promise.all([
    import('../../monitoring/tracing.ts'),
    import('../../monitoring/traced-database.ts'),
  ]);
  const tracing = locateProblems(() => new Tracing(process.env, environment, logger));
  return {
    observe: tracing.observe,
    traceStatements: (database) => traceStatements(database, tracing),
    follow: (server) => tracing.follow(server),
    close: () => tracing.close(),
  };
}

/** Adds to each problem where its variable, the first word, is set. */
function locateProblems<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError(
      error.problems.map((problem) => {
        const [name = ''] = problem.split(' ');
        return `${problem}. It is set ${describeOrigin(originOfVariable(name))}`;
      }),
    );
  }
}

function isWanted(environment: Readonly<Record<string, string | undefined>>): boolean {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: all, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: traces } = environment;
  const isOff = environment['OTEL_SDK_DISABLED'] === 'true' || environment['OTEL_TRACES_EXPORTER'] === 'none';
  return !isOff && [all, traces].some((endpoint) => endpoint !== undefined && endpoint.trim() !== '');
}

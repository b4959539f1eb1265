import type { Logger } from 'pino';
import { ConfigError, describeOrigin, type Config } from '../../config.ts';
import type { Tracing } from '../../monitoring/tracing.ts';
import { originOfVariable } from './settings-file.ts';

/**
 * Starts sending traces if this process's environment configures a collector, using OpenTelemetry's standard variables:
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/.
 *
 * @returns null if none is configured.
 * @throws ConfigError if the configuration is not supported.
 */
export async function startTracing({ environment }: Config, logger: Logger): Promise<Tracing | null> {
  if (!isWanted(process.env)) return null;
  // Loaded only if used: it takes about 40 MB.
  const { Tracing } = await import('../../monitoring/tracing.ts');
  try {
    return new Tracing(process.env, environment, logger);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // The first word of each problem is the variable.
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

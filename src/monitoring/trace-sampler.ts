import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  type Sampler,
} from '@opentelemetry/sdk-trace';
import { ConfigError } from '../config.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Keyed by name as in OpenTelemetry's Environment Variable Specification, "General SDK Configuration". */
const SAMPLERS = new Map<string, (ratio: number) => Sampler>(
  Object.entries({
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: (ratio: number) => new TraceIdRatioBasedSampler(ratio),
    parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
    parentbased_traceidratio: (ratio: number) => new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
  }),
);

/**
 * The sampler selected by OTEL_TRACES_SAMPLER; by default all requests are traced. The SDK leaves this variable to the
 * application.
 *
 * @throws ConfigError for an unknown sampler or an invalid ratio.
 */
export function readSampler({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: share }: Environment): Sampler {
  const make = SAMPLERS.get(name === undefined || name === '' ? 'parentbased_always_on' : name);
  if (make === undefined) {
    throw new ConfigError([`OTEL_TRACES_SAMPLER must be one of ${[...SAMPLERS.keys()].join(', ')}`]);
  }
  const ratio = share === undefined || share === '' ? 1 : Number(share);
  if (!(ratio >= 0 && ratio <= 1)) throw new ConfigError(['OTEL_TRACES_SAMPLER_ARG must be a share from 0 to 1']);
  return make(ratio);
}

// Loads OpenTelemetry's instrumentation before the service. docs/operators/traces.md explains the installation.
import { register } from 'node:module';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { IORedisInstrumentation } from '@opentelemetry/instrumentation-ioredis';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { NodeSDK } from '@opentelemetry/sdk-node';

// Without it, only what is loaded with require() is instrumented, and the service imports everything.
register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);
const sdk = new NodeSDK({
  instrumentations: [
    new HttpInstrumentation(),
    // Not the polls, which belong to no request.
    new PgInstrumentation({ requireParentSpan: true }),
    new IORedisInstrumentation(),
  ],
});
sdk.start();
process.once('SIGTERM', () => sdk.shutdown());

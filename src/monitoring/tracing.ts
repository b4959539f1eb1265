import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, Server } from 'node:http';
import { hostname } from 'node:os';
import {
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Span,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider, TraceIdRatioBasedSampler, type Sampler } from '@opentelemetry/sdk-trace';
import {
  ATTR_ERROR_TYPE,
  ATTR_HTTP_REQUEST_METHOD,
  ATTR_HTTP_RESPONSE_STATUS_CODE,
  ATTR_HTTP_ROUTE,
  ATTR_SERVICE_NAME,
  ATTR_SERVICE_VERSION,
  ATTR_URL_SCHEME,
} from '@opentelemetry/semantic-conventions';
import type { Logger } from 'pino';
import type { OpenDatabase } from '../database/database.ts';
import type { RequestObserver } from '../http/request/observers.ts';
import { throttleWarning } from '../throttle-warning.ts';
import { ConfigError } from '../config.ts';

import manifest from '../../package.json' with { type: 'json' };

/** How long shutdown waits for a collector to accept the remaining spans. */
const FLUSH_DEADLINE_MS = 2_000;

const WARN_EVERY_MS = 60_000;

/** Published by node:http for each request that has arrived. */
const REQUEST_START = 'http.server.request.start';

const SYSTEMS = { postgres: 'postgresql', sqlite: 'sqlite' } as const;

/**
 * Traces requests and sends the spans to the collector configured by OpenTelemetry's environment variables. Spans wait
 * in a bounded queue and are sent in the background: a slow or dead collector costs spans, and nothing else.
 *
 * No request continues its client's trace. A client's address does not prove who wrote its `traceparent`, and that
 * party could decide what is recorded here and mix its requests with those of others. The received context is kept as a
 * span link.
 */
export class Tracing {
  readonly #tracer: Tracer;
  /** The span of the request currently being served. */
  readonly #current = new AsyncLocalStorage<Span | undefined>();
  readonly #provider: TracerProvider;
  readonly #requests = new WeakMap<IncomingMessage, Span>();

  /**
   * @param environment the process variables that select the sampler; the SDK reads all others itself.
   * @throws ConfigError if they are invalid.
   */
  constructor(environment: Readonly<Record<string, string | undefined>>, stage: string, logger: Pick<Logger, 'warn'>) {
    logProblems(logger);
    const named = detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] });
    this.#provider = new TracerProvider({
      sampler: readSampler(environment),
      resource: resourceFromAttributes({
        [ATTR_SERVICE_NAME]: manifest.name,
        [ATTR_SERVICE_VERSION]: manifest.version,
        'deployment.environment.name': stage,
        'host.name': hostname(),
        'process.pid': process.pid,
      }).merge(named),
      spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
    });
    this.#tracer = this.#provider.getTracer(manifest.name, manifest.version);
  }

  /** Starts the span of each request to a server, and makes it available to everything done for the request. */
  follow(server: Server): void {
    const begin = (event: unknown): void => {
      const { request: message, server: receiver } = event as { request: IncomingMessage; server: Server };
      if (receiver !== server) return;
      const span = this.#begin(message);
      // The channel is the only one that Node publishes to before the server's listeners run, and it binds no store.
      this.#current.enterWith(span.isRecording() ? span : undefined);
    };
    subscribe(REQUEST_START, begin);
    server.once('close', () => unsubscribe(REQUEST_START, begin));
  }

  /**
   * Wraps a database so that each statement becomes a span of the request that it runs for. The span's name is the
   * statement key, which determines its SQL text and contains no values. Statements outside a request get no span.
   */
  traceStatements(database: OpenDatabase): OpenDatabase {
    return {
      ...database,
      run: (statementKey, build, values, source) => {
        const request = this.#current.getStore();
        const run = () => database.run(statementKey, build, values, source);
        if (request === undefined) return run();
        return this.#traceStatement(statementKey, SYSTEMS[database.engine], request, run);
      },
    };
  }

  async #traceStatement<T>(name: string, system: string, request: Span, run: () => T | Promise<T>): Promise<T> {
    const options = { kind: SpanKind.CLIENT, attributes: { 'db.system.name': system, 'db.query.summary': name } };
    const span = this.#tracer.startSpan(name, options, trace.setSpan(ROOT_CONTEXT, request));
    try {
      return await run();
    } catch (error) {
      // An error's message can contain values; its code does not.
      const { code, name: type } = error as { code?: unknown; name?: unknown };
      span.setAttribute(ATTR_ERROR_TYPE, String(code ?? type)).setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  }

  /** Ends a request's span and sets its attributes, none of which come from its URL or headers. */
  readonly observe: RequestObserver = ({ message, id, method, route, status, durationMs, partner, rows }) => {
    const span = this.#requests.get(message) ?? this.#begin(message, Date.now() - durationMs);
    if (!span.isRecording()) return;
    span.updateName(route === null ? method : `${method} ${route}`);
    span.setAttributes({
      [ATTR_HTTP_REQUEST_METHOD]: method,
      [ATTR_URL_SCHEME]: 'http',
      'pds.request_id': id,
      'pds.records': rows,
      ...(route !== null && { [ATTR_HTTP_ROUTE]: route }),
      ...(status !== null && { [ATTR_HTTP_RESPONSE_STATUS_CODE]: status }),
      ...(partner !== null && { 'pds.partner': partner.name }),
    });
    if (status === null) span.setAttribute(ATTR_ERROR_TYPE, 'aborted');
    else if (status >= 500)
      span.setAttribute(ATTR_ERROR_TYPE, String(status)).setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  };

  /** Sends the remaining spans, for at most two seconds. */
  async close(): Promise<void> {
    const { promise: deadline, resolve: end } = Promise.withResolvers<null>();
    const timer = setTimeout(() => end(null), FLUSH_DEADLINE_MS);
    await Promise.race([this.#provider.shutdown().catch(() => undefined), deadline]);
    clearTimeout(timer);
  }

  #begin(message: IncomingMessage, startTime?: number): Span {
    const sent = parseTraceparent(message.headers['traceparent']);
    const links = sent === null ? [] : [{ context: sent }];
    const options = { kind: SpanKind.SERVER, links, ...(startTime !== undefined && { startTime }) };
    const span = this.#tracer.startSpan('request', options, ROOT_CONTEXT);
    this.#requests.set(message, span);
    return span;
  }
}

/** https://www.w3.org/TR/trace-context/#traceparent-header, in any version whose header begins like version 00. */
function parseTraceparent(header: string | string[] | undefined): SpanContext | null {
  const [, traceId = '', spanId = '', flags = ''] =
    /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/.exec(String(header)) ??
    [];
  return traceId === '' ? null : { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

function logProblems(logger: Pick<Logger, 'warn'>): void {
  const warn = throttleWarning(WARN_EVERY_MS, (_times, message: string) =>
    logger.warn({ reason: reasonIn(message) }, 'traces cannot be sent; requests are served normally'),
  );
  const silent = (): void => undefined;
  diag.setLogger(
    { error: warn, warn, info: silent, debug: silent, verbose: silent },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

/** The SDK reports errors as JSON with all their properties. */
function reasonIn(message: string): string {
  try {
    const { message: reason, name, code } = JSON.parse(message) as Record<string, string | undefined>;
    // If a host name has several addresses, the message is empty.
    return [reason, code, name].find((word) => word !== undefined && word !== '') ?? 'unknown';
  } catch {
    return message.slice(0, 200);
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The sampler selected by OTEL_TRACES_SAMPLER; by default all requests are traced. The SDK leaves this variable to the
 * application. No request has a parent, so the samplers that begin with `parentbased_` decide as the others.
 */
function readSampler({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: share }: Environment): Sampler {
  const wanted = name === undefined || name === '' ? 'always_on' : name;
  const [, sampler] = /^(?:parentbased_)?(always_on|always_off|traceidratio)$/.exec(wanted) ?? [];
  if (sampler === undefined) {
    throw new ConfigError([
      'OTEL_TRACES_SAMPLER must be one of always_on, always_off and traceidratio, also with parentbased_ before it',
    ]);
  }
  const ratio = share === undefined || share === '' ? 1 : Number(share);
  if (!(ratio >= 0 && ratio <= 1)) throw new ConfigError(['OTEL_TRACES_SAMPLER_ARG must be a share from 0 to 1']);
  return new TraceIdRatioBasedSampler({ always_on: 1, always_off: 0 }[sampler] ?? ratio);
}

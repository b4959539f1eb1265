import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A span as a collector receives it. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root span. */
  readonly parentSpanId: string;
  readonly name: string;
  /** 2 for a server span, 3 for a client span. */
  readonly kind: number;
  readonly startedAtNs: bigint;
  readonly endedAtNs: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { traceId: string; spanId: string }[];
  /** 0 if unset, 2 for an error. */
  readonly status: number;
  /** The attributes of the sender's resource. */
  readonly resource: Readonly<Record<string, unknown>>;
}

/** An OpenTelemetry collector for traces: OTLP over HTTP with protocol buffers. */
export interface TraceCollector {
  /** The value of OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  /** All spans received so far. */
  spans(): CollectedSpan[];
  /** The raw bodies received so far. */
  bytes(): Buffer;
  close(): Promise<void>;
}

/** The caller must close it. */
export async function startTraceCollector(): Promise<TraceCollector> {
  const bodies: Buffer[] = [];
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      if (request.url === '/v1/traces') bodies.push(body);
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans: () => bodies.flatMap(readSpans),
    bytes: () => Buffer.concat(bodies),
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** A message's fields by number, with repeated values. https://protobuf.dev/programming-guides/encoding/ */
type Fields = ReadonlyMap<number, readonly (Buffer | bigint)[]>;

function readFields(message: Buffer): Fields {
  const fields = new Map<number, (Buffer | bigint)[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at);
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Buffer => {
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const tag = Number(varint());
    const wire = tag & 7;
    const value = wire === 0 ? varint() : take(wire === 1 ? 8 : wire === 5 ? 4 : Number(varint()));
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value]);
  }
  return fields;
}

const messages = (fields: Fields, number: number): Buffer[] => (fields.get(number) ?? []) as Buffer[];
const bytes = (fields: Fields, number: number): Buffer => messages(fields, number)[0] ?? Buffer.alloc(0);
const integer = (fields: Fields, number: number): bigint => (fields.get(number)?.[0] as bigint | undefined) ?? 0n;

// Field numbers of opentelemetry-proto: collector/trace/v1/trace_service.proto, trace/v1/trace.proto,
// common/v1/common.proto.
function readSpans(body: Buffer): CollectedSpan[] {
  return messages(readFields(body), 1).flatMap((resourceSpans) => {
    const ofResource = readFields(resourceSpans);
    const resource = readAttributes(readFields(bytes(ofResource, 1)), 1);
    return messages(ofResource, 2)
      .flatMap((scopeSpans) => messages(readFields(scopeSpans), 2))
      .map((span) => toSpan(readFields(span), resource));
  });
}

function toSpan(span: Fields, resource: CollectedSpan['resource']): CollectedSpan {
  return {
    traceId: bytes(span, 1).toString('hex'),
    spanId: bytes(span, 2).toString('hex'),
    parentSpanId: bytes(span, 4).toString('hex'),
    name: bytes(span, 5).toString(),
    kind: Number(integer(span, 6)),
    startedAtNs: bytes(span, 7).readBigUInt64LE(),
    endedAtNs: bytes(span, 8).readBigUInt64LE(),
    attributes: readAttributes(span, 9),
    links: messages(span, 13).map((link) => {
      const fields = readFields(link);
      return { traceId: bytes(fields, 1).toString('hex'), spanId: bytes(fields, 2).toString('hex') };
    }),
    status: Number(integer(readFields(bytes(span, 15)), 3)),
    resource,
  };
}

function readAttributes(fields: Fields, number: number): Record<string, unknown> {
  return Object.fromEntries(
    messages(fields, number).map((attribute) => {
      const pair = readFields(attribute);
      const value = readFields(bytes(pair, 2));
      const read = value.has(1) ? bytes(value, 1).toString() : value.has(3) ? Number(integer(value, 3)) : null;
      return [bytes(pair, 1).toString(), read];
    }),
  );
}

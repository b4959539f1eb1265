import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Partner } from '../../access/scope.ts';
import type { ApiError } from '../response/errors.ts';

/** A finished request. */
export interface ObservedRequest {
  /** The raw request. */
  readonly message: IncomingMessage;
  readonly id: string;
  readonly method: string;
  readonly route: string | null;
  readonly durationMs: number;
  readonly partner: Partner | null;
  /** The key's public ID; null if no key was accepted. */
  readonly keyId: string | null;
  /** Null if the client disconnected before it received the whole response. */
  readonly status: number | null;
  /** Number of records in the response; a 304 has none. */
  readonly rows: number;
  /** The 4xx that the request was refused with. */
  readonly refusal: ApiError | null;
}

/** Called for each finished request. Must be fast and must not throw. */
export type RequestObserver = (request: ObservedRequest) => void;

/** Notifies the observers once the response is sent or its connection is closed. */
export function observeWhenClosed(
  observers: readonly RequestObserver[],
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { raw: response } = reply;
  response.on('close', () => {
    const { raw: message, id, method, caller, sentRows, refusal } = request;
    const status = response.writableFinished ? response.statusCode : null;
    const observed = {
      message,
      id,
      method,
      route: request.routeOptions.url ?? null,
      durationMs: reply.elapsedTime,
      partner: caller?.partner ?? null,
      keyId: caller?.keyId ?? null,
      status,
      rows: status === 200 ? sentRows : 0,
      refusal,
    };
    for (const observe of observers) observe(observed);
  });
}

/**
 * Logs one line per request, with the reason of a 4xx. It names the route and never the URL, because a path or query can
 * contain a secret by mistake.
 */
export function logRequests(log: Pick<Logger, 'info'>): RequestObserver {
  return ({ id, method, route, status, durationMs, partner, keyId, rows, refusal }) =>
    log.info(
      {
        requestId: id,
        method,
        route,
        status,
        durationMs: Math.round(durationMs * 100) / 100,
        partner: partner?.name ?? null,
        keyId,
        rows,
        ...refusal?.logged,
      },
      status === null ? 'request aborted' : 'request answered',
    );
}

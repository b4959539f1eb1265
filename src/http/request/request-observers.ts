import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { FoundPartner } from '../../access/partner-directory.ts';
import type { Partner } from '../../access/scope.ts';

interface RequestDescription {
  /** The raw request. */
  readonly message: IncomingMessage;
  readonly id: string;
  readonly method: string;
  readonly route: string | null;
  readonly durationMs: number;
  /** Number of records in the rendered response. */
  readonly rows: number;
}

/** A finished request. */
export interface ObservedRequest extends RequestDescription {
  readonly partner: Partner | null;
  /** The key's public ID; null if no key was accepted. */
  readonly keyId: string | null;
  /** Null if the client disconnected before it received the whole response. */
  readonly status: number | null;
}

/** Called for each finished request. Must be fast and must not throw. */
export type RequestObserver = (request: ObservedRequest) => void;

/** Notifies the observers once the response is sent or its connection is closed. */
export function observeWhenClosed(
  observers: readonly RequestObserver[],
  response: ServerResponse,
  describe: () => RequestDescription & { readonly caller: FoundPartner | null },
): void {
  response.on('close', () => {
    const { message, id, method, route, durationMs, caller, rows: rendered } = describe();
    const status = response.writableFinished ? response.statusCode : null;
    // A 304 sends no records.
    const rows = status === 200 ? rendered : 0;
    const { partner, keyId } = caller ?? { partner: null, keyId: null };
    const observed = { message, id, method, route, durationMs, partner, keyId, status, rows };
    for (const observe of observers) observe(observed);
  });
}

/**
 * Logs one line per request. It names the route and never the URL, because a path or query can contain a secret by
 * mistake.
 */
export function logRequests(log: Pick<Logger, 'info'>): RequestObserver {
  return ({ id, method, route, status, durationMs, partner, keyId, rows }) =>
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
      },
      status === null ? 'request aborted' : 'request answered',
    );
}

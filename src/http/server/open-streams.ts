import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { tooManyStreams } from '../response/errors.ts';

/** A partner's streams at a time in a process. */
const MAX_STREAMS = 2;

const CHECK_MS = 1_000;

declare module 'fastify' {
  interface FastifyInstance {
    openStreams: OpenStreams;
  }
}

/** The streams that a process is sending. */
export class OpenStreams {
  readonly #logger: Pick<Logger, 'warn'>;
  readonly #unreadMs: number;
  readonly #open = new Map<FastifyRequest, ServerResponse>();
  cutStreams = 0;
  /** Complete listings of changes, by reason. */
  readonly completeListings = new Map<string, number>();

  /** @param unreadMs how long a reader can read nothing. */
  constructor(logger: Pick<Logger, 'warn'>, unreadMs: number) {
    this.#logger = logger;
    this.#unreadMs = unreadMs;
  }

  has(response: ServerResponse): boolean {
    return this.#open.values().some((open) => open === response);
  }

  /** @throws ApiError 429 if the partner has as many as it can have. */
  open(request: FastifyRequest, { raw: response }: FastifyReply): void {
    // The client has left. Its response does not close a second time.
    if (response.closed) return;
    const { id } = request.partner;
    const isOfPartner = ({ partner }: FastifyRequest): boolean => partner.id === id;
    if (this.#open.keys().filter(isOfPartner).toArray().length >= MAX_STREAMS) throw tooManyStreams(MAX_STREAMS);
    this.#open.set(request, response);
    const timer = this.#cutUnread(request, response);
    response.once('close', () => {
      clearInterval(timer);
      this.#open.delete(request);
    });
  }

  /** Cuts an open stream, by a reset: many readers would take the regular end of a connection for that of the list. */
  cut(request: FastifyRequest, reason: Readonly<Record<string, unknown>>): void {
    const response = this.#open.get(request);
    if (response === undefined) return;
    this.#open.delete(request);
    this.cutStreams += 1;
    this.#logger.warn({ requestId: request.id, partner: request.partner.name, ...reason }, 'stream cut');
    // Without a socket, it waits for an earlier response on its connection, and has sent nothing.
    if (response.socket === null) response.destroy();
    else response.socket.resetAndDestroy();
  }

  /** Cuts all streams; returns how many. */
  cutAll(reason: string): number {
    const requests = [...this.#open.keys()];
    for (const request of requests) this.cut(request, { reason });
    return requests.length;
  }

  /** Cuts a stream of which nothing was read for a while: it would occupy memory, and a place of its partner. */
  #cutUnread(request: FastifyRequest, response: ServerResponse): NodeJS.Timeout {
    let takenBytes = 0;
    let sinceMs = performance.now();
    return setInterval(
      () => {
        const { socket } = response;
        const nowMs = performance.now();
        // The bytes that the kernel has taken. Node's own timeouts restart if it took a part of a write.
        const taken = socket === null ? 0 : socket.bytesWritten - socket.writableLength;
        const isWaiting = socket === null || socket.writableLength === 0;
        if (isWaiting || taken !== takenBytes) {
          takenBytes = taken;
          sinceMs = nowMs;
        } else if (nowMs - sinceMs > this.#unreadMs) {
          this.cut(request, { reason: `Nothing was read for ${this.#unreadMs / 1_000} s.` });
        }
      },
      Math.min(CHECK_MS, this.#unreadMs),
    ).unref();
  }
}

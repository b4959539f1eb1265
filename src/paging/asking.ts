import type { FastifyRequest } from 'fastify';
import { validationFailed } from '../http/errors.ts';

/** Who waits for an answer. */
export interface Asking {
  readonly partnerId: number;
  /** @throws ApiError where nobody does any more; it reaches nobody, and ends the work. */
  throwIfGone(): void;
}

/** The client of a request, as long as its connection takes an answer. */
export function clientOf({ partner, raw: { socket } }: FastifyRequest): Asking {
  return {
    partnerId: partner.id,
    throwIfGone: () => {
      // What Fastify's `inject` has in place of a socket says neither.
      if (socket.destroyed || (socket.writable as boolean | undefined) === false) {
        throw validationFailed('The connection was closed before the answer was made.');
      }
    },
  };
}

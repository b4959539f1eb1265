import type { FastifyInstance } from 'fastify';
import { validationFailed } from '../http/response/errors.ts';
import type { Check } from '../http/request/pipeline.ts';
import { decodeCursor, type CursorBinding, type Position } from './cursor.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The position in the listing; null on its first page. */
    position: Position | null;
    /** The binding of this list's cursors; null if the route is not a list. */
    cursorBinding: CursorBinding | null;
  }
}

/** Makes the check that a request's cursor was issued to this partner by this list for these filters: 400 if not. */
export function makeCursorCheck(v1: FastifyInstance, cursorSecret: Buffer): Check {
  v1.decorateRequest('position', null);
  v1.decorateRequest('cursorBinding', null);
  return (request) => {
    const { url, config } = request.routeOptions;
    if (url === undefined || config.parameters?.['cursor'] === undefined) return;
    // The page size can change between pages; everything else is bound to the cursor.
    const { cursor, limit, ...filters } = request.parameters;
    request.cursorBinding = { endpoint: url, partnerId: request.partner.id, filters };
    if (cursor === undefined) return;
    request.position = decodeCursor(cursorSecret, request.cursorBinding, cursor as string);
    if (request.position === null) {
      throw validationFailed(
        'Parameter "cursor" was not issued by this list for these filters. Pass the "meta.next_cursor" of the previous ' +
          'page unchanged, with the same filters, or omit it to start from the first page.',
      );
    }
  };
}

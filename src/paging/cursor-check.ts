import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Partner } from '../access/scope.ts';
import { validationFailed } from '../http/errors.ts';
import { findPartner } from '../http/route-config.ts';
import { decodeCursor, type CursorBinding, type Position } from './cursor.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The position in the listing; null on its first page. */
    position: Position | null;
    /** The binding of this list's cursors; null if the route is not a list. */
    cursorBinding: CursorBinding | null;
  }
}

/** 400: the cursor was not issued to this partner by this list for these filters. */
export function addCursorCheck(app: FastifyInstance, cursorSecret: Buffer): void {
  app.decorateRequest('position', null);
  app.decorateRequest('cursorBinding', null);
  app.addHook('onRequest', (request, _reply, done) => {
    const partner = findPartner(request);
    if (partner !== null) checkCursor(request, partner, cursorSecret);
    done();
  });
}

function checkCursor(request: FastifyRequest, partner: Partner, cursorSecret: Buffer): void {
  const { url, config } = request.routeOptions;
  if (url === undefined || config.parameters?.['cursor'] === undefined) return;
  // The page size can change between pages; everything else is bound to the cursor.
  const { cursor, limit, ...filters } = request.parameters;
  request.cursorBinding = { endpoint: url, partnerId: partner.id, filters };
  if (cursor === undefined) return;
  request.position = decodeCursor(cursorSecret, request.cursorBinding, cursor as string);
  if (request.position === null) {
    throw validationFailed(
      'The parameter "cursor" must be one that this list gave for these filters: pass the "meta.next_cursor" of the ' +
        'page before as it is, with the same filters, or leave it out to begin anew.',
    );
  }
}

import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DatabaseBusyError } from '../database/errors.ts';
import {
  ApiError,
  internalError,
  overloaded,
  OverloadedError,
  renderError,
  unknownPath,
  validationFailed,
} from './errors.ts';
import { REQUEST_ID_HEADER } from './request-id.ts';

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Maps anything thrown while serving a request to one of the errors in `errors.ts`. */
export function addErrorHandling(app: FastifyInstance): void {
  app.setErrorHandler(sendError);
  app.setNotFoundHandler(() => {
    throw unknownPath();
  });
}

/** Sends an error in the envelope. Causes that are not for the partner are only logged, under the request ID. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const answer = toApiError(error);
  if (answer instanceof OverloadedError) request.server.admission.noticeRefusal();
  if (answer.status >= 500) request.log.error({ err: error }, 'the request failed');
  void reply
    .code(answer.status)
    .header(REQUEST_ID_HEADER, request.id)
    .headers(answer.headers)
    .type(JSON_TYPE)
    .send(renderError(answer, request.id));
}

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof DatabaseBusyError) return overloaded();
  const { statusCode } = error as Partial<FastifyError>;
  // Fastify's own 4xx errors (414, 415, …) are about the request; the API has one status for all of them.
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return validationFailed('The request is not one that can be read.');
  }
  return internalError();
}

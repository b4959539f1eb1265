import type { FastifyReply } from 'fastify';

/**
 * Finished JSON text is stored without its closing brace where something is added when it is
 * read: `is_open`, and `updated_at`, which may be the instant of a publication that was not
 * yet known when the record was rendered.
 */
export function withoutClosingBrace(json: string): string {
  return json.slice(0, -1);
}

/** Closes a stored document with the instant of its last update. */
export function withUpdatedAt(document: string, updatedAt: string): string {
  return `${document},"updated_at":"${updatedAt}"}`;
}

/** Sends finished JSON as it is. */
export function sendDocument(reply: FastifyReply, json: string): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(json);
}

import * as client from '../../client/src/index.ts';
import { brief } from './answers.ts';
import { ArgumentError } from './tool.ts';

/** Advice for each error. */
const ADVICE = [
  [ArgumentError, 'Correct the arguments.'],
  [client.ValidationFailedError, 'Correct the arguments.'],
  [
    client.UnauthorizedError,
    'Do not call again. The person who set up this server must check its PARTNER_DATA_KEY and PARTNER_DATA_URL. Never ask for the key in a conversation.',
  ],
  [client.ForbiddenError, 'Do not call again: the operator of the service decides what the key includes.'],
  [client.NotFoundError, 'Search for the record: it may have another id, or be gone.'],
  [client.UnexpectedAnswerError, 'The user must check PARTNER_DATA_URL, and any proxy on the way to the service.'],
  [
    client.PartnerDataError,
    'Call again in a minute. If it persists, the service does not respond, or PARTNER_DATA_URL is wrong.',
  ],
  [Error, 'This is a fault of partner-data-mcp.'],
] as const;

/** Describes an error for an assistant, with advice. */
export function errorText(error: unknown): string {
  const advice =
    error instanceof client.RateLimitedError
      ? `Wait ${Math.ceil(error.retryAfterSeconds ?? 60)} seconds before the next call: the limit is of all programs of the user.`
      : ADVICE.find(([type]) => error instanceof type)?.[1];
  const request = error instanceof client.ApiError && error.requestId !== null ? `Request ID: ${error.requestId}` : '';
  // The message can be a proxy's.
  return [brief((error as Error).message, 500), advice, brief(request)].join('\n').trim();
}

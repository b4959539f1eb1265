import type { IncomingMessage } from 'node:http';
import Negotiator from 'negotiator';
import { validationFailed } from '../response/errors.ts';
import { openEnum } from '../openapi/openapi-schemas.ts';
import { InvalidParameter, isBlank, oneOfParameter, type PageParameter } from './parameters.ts';

/** How a list can be sent: as JSON pages, or as a stream of records. */
export const FORMATS = ['json', 'ndjson', 'csv'] as const;
export type Format = (typeof FORMATS)[number];

/** The media types that a client can ask for, in our order of preference. */
const FORMAT_OF: Readonly<Record<string, Format>> = {
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
  'application/ndjson': 'ndjson',
  'text/csv': 'csv',
};

/** A parameter of a media type, such as `charset=utf-8`, but not its weight. */
const MEDIA_TYPE_PARAMETER = /;\s*(?!q=)[^\s;,="]+=("[^"]*"|[^\s;,"]*)/gi;

/** The format that an `Accept` header prefers. It is JSON if the header names nothing of ours: this API has no 406. */
export function acceptedFormat(accept: string | undefined, formats: readonly Format[] = FORMATS): Format {
  // Nearly all requests: the library would take two microseconds for each.
  if (accept === undefined || !/jsonl|ndjson|csv|text\/\*/i.test(accept)) return 'json';
  // The library matches parameters exactly; ours have none that a client could choose between.
  const withoutParameters = accept.replaceAll(MEDIA_TYPE_PARAMETER, '');
  const types = Object.keys(FORMAT_OF).filter((type) => formats.includes(FORMAT_OF[type] ?? 'json'));
  const type = new Negotiator({ headers: { accept: withoutParameters } }).mediaType(types);
  return (type === undefined ? undefined : FORMAT_OF[type]) ?? 'json';
}

/** Page size if the client gives none. */
export const DEFAULT_LIMIT = 25;
export const MAX_LIMIT = 100;

/** Maximum number of records in a piece of a stream. */
export const MAX_STREAM_LIMIT = 100_000;

/** Page size; its maximum depends on the format. Digits only: `Number()` would accept `0x10`, `1e1`, ` 10` and more. */
const limitParameter = (streams: string): PageParameter<number> => ({
  isOfPage: true,
  schema: {
    type: 'integer',
    format: 'int32',
    minimum: 1,
    maximum: MAX_LIMIT,
    default: DEFAULT_LIMIT,
    description:
      `Maximum number of records on a page. It can change from page to page. With ${streams} it can ` +
      `be up to ${MAX_STREAM_LIMIT}, and without it the response is the whole list.`,
  },
  parse(value) {
    if (isBlank(value)) throw new InvalidParameter('must be a whole number, in plain digits');
    // `checkLimit` refuses 0: only there it is known what the format accepts.
    return /^[1-9]\d{0,14}$/.test(value) ? Number(value) : 0;
  },
});

/** @throws ApiError 400 if the format does not accept the limit. */
export function checkLimit(limit: number | undefined, format: Format): void {
  const max = format === 'json' ? MAX_LIMIT : MAX_STREAM_LIMIT;
  if (limit !== undefined && (limit < 1 || limit > max))
    throw validationFailed(`Parameter "limit" must be a whole number from 1 to ${max}, in plain digits.`);
}

/** A client of HTTP/1.0, or behind a proxy that names it as one. */
const VIA_HTTP_1_0 = /(?:^|,)\s*(?:HTTP\/)?1\.0\s/i;

/**
 * Refuses streams to clients of HTTP/1.0: it has no chunks, so they would take a stream that was cut for a whole one.
 *
 * @throws ApiError 400
 */
export function checkProtocol({ httpVersion, headers }: IncomingMessage, format: Format): void {
  if (format === 'json' || (httpVersion !== '1.0' && !VIA_HTTP_1_0.test(headers.via ?? ''))) return;
  throw validationFailed(
    'A list is streamed over HTTP/1.1 only, since a client of HTTP/1.0 cannot see that a stream was cut. Use "format=json", ' +
      'or a client or proxy of HTTP/1.1.',
  );
}

/** The formats of a list, as documented. */
export const listFormat = openEnum(
  'ListFormat',
  FORMATS,
  '`json` is a page of the list. `ndjson` and `csv` stream all of it, or `limit` records.',
);

/** The formats of the feed of changes, as documented. */
export const feedFormat = openEnum(
  'FeedFormat',
  ['json', 'ndjson'],
  '`json` is a page. `ndjson` streams all changes, or `limit` of them.',
);

/** The format of a list. Wins over `Accept`, which is compared with `formats`. */
export interface FormatParameter extends PageParameter<Format> {
  readonly formats: readonly Format[];
}

function formatParameter(format: typeof listFormat | typeof feedFormat, addition: string): FormatParameter {
  const description = `${addition}ow the list is sent. Without it, the \`Accept\` header decides.`;
  return { isOfPage: true, formats: format.enum, ...oneOfParameter<Format>(format, description) };
}

/** The position after which the page begins. `paging/` checks that the cursor belongs to this list. */
const cursorParameter: PageParameter<string> = {
  isOfPage: true,
  schema: {
    type: 'string',
    minLength: 1,
    description: 'The `meta.next_cursor` of the previous page, unchanged, with the same filters. Opaque.',
  },
  parse(value) {
    if (isBlank(value)) throw new InvalidParameter('must be the "meta.next_cursor" of the previous page, unchanged');
    return value;
  },
};

/** The parameters of every list, beside its filters. */
export const PAGE_PARAMETERS = {
  cursor: cursorParameter,
  limit: limitParameter('`format=ndjson` or `format=csv`'),
  format: formatParameter(listFormat, 'An addition to the interface, new in 1.3.0: h'),
};

/** The same of the feed of changes. */
export const FEED_PARAMETERS = {
  cursor: cursorParameter,
  limit: limitParameter('`format=ndjson`'),
  format: formatParameter(feedFormat, 'H'),
};

import { z } from 'zod';
import type { Solicitation } from '../../../client/src/index.ts';
import { continuation, firstPage, listLink, recordLink, renderMatches } from '../answers.ts';
import type { Service } from '../service.ts';
import { ArgumentError, idOf, SEARCH, type Tool } from '../tool.ts';

const DAY_MS = 86_400_000;

const NIGP_CLASS = z.string().regex(/^(\d{3}|\d{5}|\d{7}|\d{11})$/);
const STATUS = z.enum(['open', 'closed', 'awarded', 'cancelled']);

const input = z.strictObject({
  ...SEARCH,
  open_now: z.boolean().default(false).describe('Only those that take bids now'),
  closing_within_days: z.number().min(0).max(3_650).optional().describe('Open, and closing within so many days'),
  status: STATUS.optional().describe('As stored, which stays "open" after the deadline: open_now has what takes bids'),
  nigp: z.array(NIGP_CLASS).max(20).default([]).describe('NIGP classes of 3, 5, 7 or 11 digits: any, or one below it'),
  lead_entity: idOf('lead entity, the issuer'),
});

export const searchSolicitations: Tool<typeof input> = {
  name: 'search_solicitations',
  description:
    'Finds solicitations (RFPs, bids): open now, closing within days, by words, NIGP classes, issuer or status. In the order of ids: for the next deadlines, give a small closing_within_days.',
  input,
  async call(service, given, options) {
    const { solicitations } = service.client;
    // A cursor belongs to filters, and so to the time that they are relative to: ours carries both.
    const [now = '', cursor] = given.cursor?.split(' ') ?? [new Date(service.clock()).toISOString()];
    if (Number.isNaN(Date.parse(now))) throw new ArgumentError('cursor is not of an answer of search_solicitations.');
    const filters = filtersOf(given, now);
    const listing = firstPage(solicitations.list({ ...filters, limit: given.limit, cursor }, options));
    const [total, { data, nextCursor }] = await Promise.all([solicitations.count(filters, options), listing]);
    const summary = [
      `${data.length} of ${total} solicitations.`,
      continuation(nextCursor === null ? null : `${now} ${nextCursor}`),
      listLink(service, 'solicitations', filters),
    ];
    const next = 'get_record with kind "solicitations" has description, documents, notices, questions and NIGP codes.';
    const lines = data.map((solicitation) => solicitationLine(service, solicitation));
    return renderMatches(summary, lines, next);
  },
};

function filtersOf({ open_now, closing_within_days: days, words: q, ...given }: z.output<typeof input>, now: string) {
  const { status, lead_entity, nigp, updated_since } = given;
  const isOpen = open_now || days !== undefined;
  if (isOpen && status !== undefined && status !== 'open')
    throw new ArgumentError(`status "${status}" contradicts open_now and closing_within_days.`);
  return {
    ...{ q, status, lead_entity, updated_since },
    ...(nigp.length > 0 && { nigp }),
    ...(isOpen && { is_open: true }),
    ...(days !== undefined && { closing_before: new Date(Date.parse(now) + days * DAY_MS).toISOString() }),
  };
}

function solicitationLine(service: Service, record: Solicitation) {
  const { id, reference_number, title, status, is_open, close_at, lead_entity } = record;
  const link = recordLink(service, 'solicitations', id);
  return { id, reference_number, title, status, is_open, close_at, lead_entity, link };
}

/** A request, independent of the candidate that serves it. */
export type Question =
  | { kind: 'list'; filters: ListFilters; after?: string; limit?: number }
  | { kind: 'count'; filters: ListFilters }
  | { kind: 'detail'; id: string }
  | { kind: 'contracts'; after: string };

/** Filters on solicitations, combined with AND. */
export interface ListFilters {
  leadEntity?: string;
  status?: string;
  closingAfter?: string;
  closingBefore?: string;
  q?: string;
  updatedSince?: string;
}

/** The default page size. */
export const PAGE = 25;

/** Path and query of a question for the service and the hand-written baselines; `after` becomes the cursor. */
export function addressOf(question: Question, after: string | undefined): string {
  switch (question.kind) {
    case 'detail':
      return `/v1/solicitations/${question.id}`;
    case 'contracts':
      return `/v1/contracts?limit=${PAGE}&cursor=${after ?? ''}`;
    case 'count':
      return `/v1/solicitations/count?${filterText(question.filters)}`;
    case 'list': {
      const cursor = after === undefined ? '' : `&cursor=${after}`;
      return `/v1/solicitations?limit=${question.limit ?? PAGE}${cursor}&${filterText(question.filters)}`;
    }
  }
}

function filterText(filters: ListFilters): string {
  const { leadEntity, status, closingAfter, closingBefore, q, updatedSince } = filters;
  const parameters = new URLSearchParams();
  const given = {
    lead_entity: leadEntity,
    status,
    closing_after: closingAfter,
    closing_before: closingBefore,
    q,
    updated_since: updatedSince,
  };
  for (const [name, value] of Object.entries(given)) if (value !== undefined) parameters.set(name, value);
  return parameters.toString();
}

import type { SolicitationRecord } from '../src/resources/solicitations/fields.ts';
import { INVENTED_LEAD_ENTITIES, SUBJECTS, type Subject } from './invented-subjects.ts';

const DAY_MS = 86_400_000;

/** Statuses of the solicitations that are past their deadline; they are repeated. Some are still open. */
const PAST_STATUSES = ['open', 'closed', 'awarded'] as const;
/** Statuses of the year before. */
const EARLIER_STATUSES = ['awarded', 'closed', 'awarded', 'cancelled', 'awarded', 'awarded'] as const;

/** Each subject was invited to bid a year ago, too. */
const ROUNDS = [
  { suffix: '', daysAgo: 0 },
  { suffix: ', earlier round', daysAgo: 365 },
];

/**
 * Solicitations with every field filled and deadlines relative to `nowMs`: 60 from three weeks before to three months
 * after, most of them soon, and 60 of a year ago. Marked as invented in title and issuer.
 */
export function inventedSolicitations(nowMs: number): SolicitationRecord[] {
  return ROUNDS.flatMap(({ suffix, daysAgo }, round) =>
    SUBJECTS.map((subject, index) => {
      // In steps of seven, so that each lead entity has early and late deadlines; 60 and 7 have no common divisor.
      const share = ((index * 7) % SUBJECTS.length) / SUBJECTS.length;
      const closesInDays = Math.round(110 * share ** 1.7) - 20 - daysAgo;
      return inventedSolicitation(nowMs, round * SUBJECTS.length + index, subject, suffix, closesInDays);
    }),
  );
}

function statusOf(index: number, closesInDays: number): SolicitationRecord['status'] {
  if (index >= SUBJECTS.length) return EARLIER_STATUSES[index % EARLIER_STATUSES.length] ?? 'awarded';
  if (closesInDays < 0) return PAST_STATUSES[index % PAST_STATUSES.length] ?? 'closed';
  return index % 15 === 14 ? 'cancelled' : 'open';
}

function inventedSolicitation(
  nowMs: number,
  index: number,
  [subject, code, description]: Subject,
  suffix: string,
  closesInDays: number,
): SolicitationRecord {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const dayFromToday = (days: number): string => new Date(today + days * DAY_MS + 21 * 3_600_000).toISOString();
  const number = index + 1;
  const issuer = INVENTED_LEAD_ENTITIES[Math.floor((index % SUBJECTS.length) / 12)] ?? INVENTED_LEAD_ENTITIES[0];
  // So early that no notice or answer is dated after today.
  const opensInDays = closesInDays - 112;
  return {
    id: `sol_example_${String(number).padStart(3, '0')}`,
    ref: 900_000 + number,
    reference_number: `EX-${dayFromToday(opensInDays).slice(0, 4)}-${String(number).padStart(3, '0')}`,
    title: `${subject}${suffix} (invented)`,
    status: statusOf(index, closesInDays),
    issuing_organization: issuer.name.replace('(invented)', 'Purchasing (invented)'),
    lead_entity_id: issuer.id,
    open_at: dayFromToday(opensInDays),
    close_at: dayFromToday(closesInDays),
    questions_due_at: dayFromToday(closesInDays - 10),
    intent_to_bid_due_at: dayFromToday(closesInDays - 7),
    description: `${description} This solicitation is invented: it shows what the interface serves.`,
    require_intent_registration: index % 2 === 0,
    created_at: dayFromToday(opensInDays - 2),
    nigp_codes: [
      { code: code.slice(0, 3), description: 'Class' },
      { code, description: subject },
    ],
    documents: [
      {
        id: number * 10 + 1,
        name: 'Scope of work',
        description: 'What is to be done, where and by when.',
        file_type: 'pdf',
        file_size: 182_340 + number * 1_024,
      },
      {
        id: number * 10 + 2,
        name: 'Price schedule',
        description: 'To be filled in and returned.',
        file_type: 'xlsx',
        file_size: 24_576,
      },
    ],
    requested_items: [
      {
        id: number * 10 + 3,
        name: 'Completed price schedule',
        required: true,
        file_type: 'xlsx',
        allows_multiple: false,
        instructions: 'Fill in every line; write 0 where there is no charge.',
        template_document_id: number * 10 + 2,
      },
      {
        id: number * 10 + 4,
        name: 'References',
        required: false,
        file_type: 'pdf',
        allows_multiple: true,
        instructions: 'Up to three from the last five years.',
        template_document_id: null,
      },
    ],
    notices: [
      {
        id: number * 10 + 5,
        title: 'Addendum 1',
        body: 'The site visit takes place a week earlier than first announced.',
        created_at: dayFromToday(opensInDays + 10),
      },
    ],
    questions: [
      {
        id: number * 10 + 6,
        title: 'Bonding',
        body: 'Is a bid bond required?',
        answer: 'No. A performance bond is required of the successful bidder.',
        answered_at: dayFromToday(opensInDays + 17),
        created_at: dayFromToday(opensInDays + 15),
      },
      {
        id: number * 10 + 7,
        title: 'Site access',
        body: 'May we see the site on a weekend?',
        answer: null,
        answered_at: null,
        created_at: dayFromToday(opensInDays + 19),
      },
    ],
  };
}

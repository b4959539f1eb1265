import type { NamedRecord } from '../src/publishing/records.ts';
import type { SolicitationRecord } from '../src/resources/solicitations/render.ts';

const DAY_MS = 86_400_000;

/** Issues the invented solicitations, so that none is laid at a real city's door. */
export const INVENTED_LEAD_ENTITY: NamedRecord = { id: 'le_example_city', name: 'Example City (invented)' };

const SUBJECTS: readonly [title: string, code: string, description: string][] = [
  ['Street resurfacing', '91395', 'Milling and paving of twelve miles of residential streets.'],
  ['School bus fleet', '07003', 'Ten electric school buses with chargers, delivered and commissioned.'],
  ['Fire hydrant maintenance', '93636', 'Yearly inspection, flushing and repair of 2,400 hydrants.'],
  ['Library shelving', '42053', 'Steel shelving for two branch libraries, installed.'],
  ['Tree planting', '98887', 'Six hundred street trees, planted and watered for two years.'],
  ['Payroll software', '20854', 'Hosted payroll for 3,000 employees, with data migration.'],
  ['Water meter replacement', '89043', 'Automatic meters for 18,000 accounts.'],
  ['Janitorial services', '91039', 'Daily cleaning of nine municipal buildings.'],
  ['Traffic signal controllers', '55080', 'Controllers and cabinets for forty intersections.'],
  ['Police body cameras', '84070', 'Three hundred cameras with five years of storage.'],
  ['Stormwater master plan', '91843', 'A plan for the basins of Mill Creek and Café Row.'],
  ['Playground equipment', '65035', 'Accessible equipment for four neighborhood parks.'],
];

const STATUSES = ['open', 'open', 'open', 'open', 'open', 'open', 'open', 'closed', 'awarded', 'cancelled'] as const;

/**
 * A dozen solicitations that show every part of the interface at work, with every field filled
 * and deadlines from two weeks before to six weeks after `nowMs`. Marked as invented in title
 * and issuer.
 */
export function inventedSolicitations(nowMs: number): SolicitationRecord[] {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const dayFromToday = (days: number): string => new Date(today + days * DAY_MS + 21 * 3_600_000).toISOString();
  return SUBJECTS.map(([subject, code, description], index): SolicitationRecord => {
    // Every fifth day, so that some are over, some end this week and some later.
    const closesInDays = 5 * index - 14;
    const number = index + 1;
    return {
      id: `sol_example_${String(number).padStart(3, '0')}`,
      ref: 900_000 + number,
      reference_number: `EX-2026-${String(number).padStart(3, '0')}`,
      title: `${subject} (invented)`,
      status: STATUSES[index] ?? 'open',
      issuing_organization: 'Example City Purchasing (invented)',
      lead_entity_id: INVENTED_LEAD_ENTITY.id,
      open_at: dayFromToday(closesInDays - 30),
      close_at: dayFromToday(closesInDays),
      questions_due_at: dayFromToday(closesInDays - 10),
      intent_to_bid_due_at: dayFromToday(closesInDays - 7),
      description: `${description} This solicitation is invented: it shows what the interface serves.`,
      require_intent_registration: index % 2 === 0,
      created_at: dayFromToday(closesInDays - 32),
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
          created_at: dayFromToday(closesInDays - 20),
        },
      ],
      questions: [
        {
          id: number * 10 + 6,
          title: 'Bonding',
          body: 'Is a bid bond required?',
          answer: 'No. A performance bond is required of the successful bidder.',
          answered_at: dayFromToday(closesInDays - 12),
          created_at: dayFromToday(closesInDays - 15),
        },
        {
          id: number * 10 + 7,
          title: 'Site access',
          body: 'May we see the site on a weekend?',
          answer: null,
          answered_at: null,
          created_at: dayFromToday(closesInDays - 11),
        },
      ],
    };
  });
}

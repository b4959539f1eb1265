import fc from 'fast-check';
import { awkwardName, awkwardText, either, maybe } from './generated-values.ts';

type GeneratedRecord = Record<string, unknown>;

const FIRST = Date.parse('2025-10-01T00:00:00.000Z');
const MIDDLE = Date.parse('2026-04-15T09:00:00.000Z');
const LAST = Date.parse('2026-12-31T23:59:59.999Z');

/** A timestamp around 2026-04-15T09:00:00Z, or exactly that, in one of several notations. */
export const awkwardTimestamp = fc
  .tuple(
    fc.oneof(
      { weight: 9, arbitrary: fc.integer({ min: FIRST, max: LAST }) },
      { weight: 1, arbitrary: fc.constantFrom(MIDDLE - 1, MIDDLE, MIDDLE + 1) },
    ),
    fc.constantFrom(...writings()),
  )
  .map(([epochMs, write]) => write(new Date(epochMs)));

function writings(): ((date: Date) => string)[] {
  const shifted = (date: Date, hours: number): string => new Date(date.getTime() + hours * 3_600_000).toISOString();
  return [
    (date) => date.toISOString(),
    (date) => date.toISOString().replace(/\.\d+Z/, 'Z'),
    (date) => date.toISOString().toLowerCase(),
    (date) => date.toISOString().replace('Z', '999Z'),
    (date) => shifted(date, 2).replace('Z', '+02:00'),
    (date) => shifted(date, -5).replace('Z', '-05:00'),
    (date) => date.toISOString().replace('Z', '-00:00'),
  ];
}

const fileType = either(fc.constantFrom('pdf', 'application/pdf', 'XLSX', ''));

const document = maybe(
  { name: awkwardName },
  { description: either(awkwardText), file_type: fileType, file_size: either(fc.maxSafeNat()) },
);

const requestedItem = maybe(
  { name: awkwardName, required: fc.boolean(), allows_multiple: fc.boolean() },
  { file_type: fileType, instructions: either(awkwardText) },
);

const notice = fc.record({ title: awkwardName, body: awkwardText, created_at: awkwardTimestamp });

const question = maybe(
  { title: awkwardName, body: awkwardText, created_at: awkwardTimestamp },
  { answer: either(awkwardText), answered_at: either(awkwardTimestamp) },
);

const nigpCode = fc.record({
  code: fc.constantFrom('005', '91438', '9143827', '91438270000', '000'),
  description: awkwardText,
});

/** A solicitation of one of these lead entities, of any status including draft; without `id` and `ref`. */
export function generatedSolicitation(leadEntities: readonly string[]): fc.Arbitrary<GeneratedRecord> {
  const base = maybe(
    {
      reference_number: fc.oneof(awkwardName, fc.stringMatching(/^RFP-20\d\d-0\d\d$/)),
      title: awkwardName,
      status: fc.constantFrom('draft', 'open', 'open', 'open', 'closed', 'awarded', 'cancelled'),
      lead_entity_id: fc.constantFrom(...leadEntities),
      require_intent_registration: fc.boolean(),
      created_at: awkwardTimestamp,
    },
    {
      issuing_organization: either(awkwardName),
      open_at: either(awkwardTimestamp),
      close_at: either(awkwardTimestamp),
      questions_due_at: either(awkwardTimestamp),
      intent_to_bid_due_at: either(awkwardTimestamp),
      description: either(awkwardText),
      updated_at: awkwardTimestamp,
      nigp_codes: fc.array(nigpCode, { maxLength: 4 }),
      notices: fc.array(notice, { maxLength: 3 }).map(numbered),
      questions: fc.array(question, { maxLength: 3 }).map(numbered),
    },
  );
  const documents = fc.array(document, { maxLength: 4 }).map(numbered);
  const items = fc.array(fc.tuple(requestedItem, either(fc.nat(3))), { maxLength: 4 });
  return fc.tuple(base, documents, items).map(([record, attached, asked]) => ({
    ...record,
    documents: attached,
    requested_items: numbered(asked.map(([item, template]) => ({ ...item, ...templateOf(attached, template) }))),
  }));
}

/** Assigns ids that neither begin at 1 nor ascend. */
function numbered(records: GeneratedRecord[]): GeneratedRecord[] {
  return records.map((record, index) => ({ id: 7_000 - index * 13, ...record }));
}

/** References one of the solicitation's own documents or null; omits the field if that document does not exist. */
function templateOf(documents: GeneratedRecord[], index: number | null): GeneratedRecord {
  if (index === null) return { template_document_id: null };
  const template = documents[index];
  return template === undefined ? {} : { template_document_id: template['id'] };
}

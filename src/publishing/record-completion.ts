import { parseTimestamp } from '../timestamp.ts';
import type { FieldProblem } from './record-parser.ts';
import type { RecordKind, RecordOf } from './records.ts';
import type { SolicitationRecord } from '../resources/solicitations/record.ts';

/** Fields as validated: optional ones can be missing. */
type Loose<T> = { [F in keyof T]?: T[F] | undefined };

interface Completed {
  record: RecordOf[RecordKind];
  updatedAt: string | null;
  problems: FieldProblem[];
}

/**
 * Fills in omitted fields and normalizes timestamps. Fields are in a fixed order, so that equal records serialize
 * equally; only fields listed here can be stored or served.
 */
export function completeRecord(kind: RecordKind, fields: { updated_at?: string }): Completed {
  const updatedAt = timestamp(fields.updated_at);
  if (kind === 'solicitations') {
    const record = solicitation(fields as Loose<SolicitationRecord>);
    return { record, updatedAt, problems: [...repeatedIds(record), ...templateProblems(record)] };
  }
  const record = COMPLETE[kind](fields as never);
  return { record, updatedAt, problems: [] };
}

const named = ({ id, name }: RecordOf['coops']): RecordOf['coops'] => ({ id, name });

const COMPLETE: { [K in Exclude<RecordKind, 'solicitations'>]: (fields: RecordOf[K]) => RecordOf[K] } = {
  'lead-entities': named,
  coops: named,
  'city-services': named,
  certifications: ({ abbreviation, name, type }) => ({ abbreviation, name, type }),
  suppliers: (f: Loose<RecordOf['suppliers']>) => ({
    id: f.id ?? '',
    name: f.name ?? '',
    short_intro: f.short_intro ?? null,
    about: f.about ?? null,
    states_served: (f.states_served ?? []).toSorted(),
    certifications: (f.certifications ?? []).toSorted(),
    city_service_ids: (f.city_service_ids ?? []).toSorted(),
    location: f.location ?? null,
    logo: f.logo ?? null,
    email: f.email ?? null,
    website: f.website ?? null,
  }),
  contracts: (f: Loose<RecordOf['contracts']>) => ({
    id: f.id ?? '',
    name: f.name ?? '',
    summary: f.summary ?? null,
    description: f.description ?? null,
    lead_entity_id: f.lead_entity_id ?? '',
    coop_id: f.coop_id ?? null,
    supplier_ids: f.supplier_ids ?? [],
    city_service_ids: f.city_service_ids ?? [],
  }),
};

function solicitation(f: Loose<SolicitationRecord>): SolicitationRecord {
  return {
    id: f.id ?? '',
    ref: f.ref ?? 0,
    reference_number: f.reference_number ?? '',
    title: f.title ?? '',
    status: f.status ?? 'draft',
    issuing_organization: f.issuing_organization ?? null,
    lead_entity_id: f.lead_entity_id ?? '',
    open_at: timestamp(f.open_at),
    close_at: timestamp(f.close_at),
    questions_due_at: timestamp(f.questions_due_at),
    intent_to_bid_due_at: timestamp(f.intent_to_bid_due_at),
    description: f.description ?? null,
    require_intent_registration: f.require_intent_registration ?? false,
    created_at: timestamp(f.created_at) ?? '',
    nigp_codes: (f.nigp_codes ?? []).map(({ code, description }) => ({ code, description })),
    documents: (f.documents ?? []).map((document: Loose<SolicitationRecord['documents'][number]>) => ({
      id: document.id ?? 0,
      name: document.name ?? '',
      description: document.description ?? null,
      file_type: document.file_type ?? null,
      file_size: document.file_size ?? null,
    })),
    requested_items: (f.requested_items ?? []).map((item: Loose<SolicitationRecord['requested_items'][number]>) => ({
      id: item.id ?? 0,
      name: item.name ?? '',
      required: item.required ?? false,
      file_type: item.file_type ?? null,
      allows_multiple: item.allows_multiple ?? false,
      instructions: item.instructions ?? null,
      template_document_id: item.template_document_id ?? null,
    })),
    notices: (f.notices ?? []).map(({ id, title, body, created_at }) => ({
      id,
      title,
      body,
      created_at: timestamp(created_at) ?? '',
    })),
    questions: (f.questions ?? []).map((question: Loose<SolicitationRecord['questions'][number]>) => ({
      id: question.id ?? 0,
      title: question.title ?? '',
      body: question.body ?? '',
      answer: question.answer ?? null,
      answered_at: timestamp(question.answered_at),
      created_at: timestamp(question.created_at) ?? '',
    })),
  };
}

function timestamp(text: string | null | undefined): string | null {
  return typeof text === 'string' ? parseTimestamp(text) : null;
}

function templateProblems(record: SolicitationRecord): FieldProblem[] {
  const documents = new Set(record.documents.map(({ id }) => id));
  return record.requested_items.flatMap(({ template_document_id: template }, index) =>
    template === null || documents.has(template)
      ? []
      : [
          {
            field: `requested_items[${index}].template_document_id`,
            reason: `${template} names no document of this solicitation`,
          },
        ],
  );
}

/** Reports ids that are repeated within one of a solicitation's lists. */
function repeatedIds(record: SolicitationRecord): FieldProblem[] {
  return (['documents', 'requested_items', 'notices', 'questions'] as const).flatMap((list) => {
    const seen = new Set<number>();
    return record[list].flatMap(({ id }, index) => {
      if (seen.has(id)) return [{ field: `${list}[${index}].id`, reason: `${id} stands in this list already` }];
      seen.add(id);
      return [];
    });
  });
}

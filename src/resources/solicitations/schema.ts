import { Type } from 'typebox';
import { instant, nullable, refTo } from '../schemas.ts';

export const STATUSES = ['open', 'closed', 'awarded', 'cancelled'] as const;

const listFields = {
  id: Type.String({ examples: ['sol_fed_grants_gov_pa_12_295'] }),
  ref: Type.Integer({ description: 'Numeric public id; the detail takes it in place of `id`.', examples: [10001] }),
  reference_number: Type.String({ description: "The issuer's reference number.", examples: ['PA-12-295'] }),
  title: Type.String({ examples: ['Drug Abuse Aspects of HIV/AIDS (R21)'] }),
  status: Type.Enum([...STATUSES], {
    description: 'The stored status. Stays `open` after the deadline: `is_open` tells whether bidding is live.',
  }),
  issuing_organization: nullable(Type.String()),
  lead_entity: refTo('NamedRef'),
  is_open: Type.Boolean({
    description:
      'True while the status is `open` and `close_at` is absent or in the future, at the moment of the request.',
  }),
  open_at: nullable(instant('When bidding opens.')),
  close_at: nullable(instant('When bidding closes; from then on `is_open` is false.')),
  questions_due_at: nullable(instant('Until when questions may be asked.')),
  intent_to_bid_due_at: nullable(instant('Until when intent to bid may be registered.')),
  updated_at: instant(
    'The last change of the solicitation itself. Notices, documents and questions do not move it: re-read the detail.',
  ),
};

export const solicitation = Type.Object(listFields, {
  $id: 'Solicitation',
  description: 'A solicitation (RFP) as lists show it.',
});

const nigpCode = Type.Object({
  code: Type.String({ pattern: '^([0-9]{3}|[0-9]{5}|[0-9]{7}|[0-9]{11})$', examples: ['91027'] }),
  description: Type.String(),
});

const document = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    description: nullable(Type.String()),
    file_type: nullable(Type.String()),
    file_size: nullable(Type.Integer({ description: 'Bytes.' })),
  },
  { description: 'Metadata of a supporting document; the file itself is not served.' },
);

const requestedItem = Type.Object(
  {
    id: Type.Integer(),
    name: Type.String(),
    required: Type.Boolean(),
    file_type: nullable(Type.String()),
    allows_multiple: Type.Boolean(),
    instructions: nullable(Type.String()),
    template_document_id: nullable(Type.Integer({ description: 'The document that serves as its template.' })),
  },
  { description: 'Something that bidders are asked to supply.' },
);

const notice = Type.Object(
  { id: Type.Integer(), title: Type.String(), body: Type.String(), created_at: instant('When it was published.') },
  { description: 'A public announcement of the issuer, such as an addendum.' },
);

const question = Type.Object(
  {
    id: Type.Integer(),
    title: Type.String(),
    body: Type.String(),
    answer: nullable(Type.String()),
    answered_at: nullable(instant('When it was answered.')),
    created_at: instant('When it was asked.'),
  },
  { description: 'A published question, without who asked it, and its answer.' },
);

export const solicitationDetail = Type.Object(
  {
    ...listFields,
    description: nullable(Type.String()),
    require_intent_registration: Type.Boolean({
      description: 'Whether bidders must register their intent before they submit.',
    }),
    created_at: instant('When it was created.'),
    nigp_codes: Type.Array(nigpCode, { description: 'NIGP classes of 3, 5, 7 or 11 digits.' }),
    documents: Type.Array(document),
    requested_items: Type.Array(requestedItem),
    notices: Type.Array(notice),
    questions: Type.Array(question),
  },
  { $id: 'SolicitationDetail', description: 'A solicitation, whole.' },
);

export const count = Type.Object(
  { total: Type.Integer({ minimum: 0, examples: [6435] }) },
  { $id: 'Count', description: 'How many match.' },
);

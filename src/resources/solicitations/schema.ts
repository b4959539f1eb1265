import { Type } from 'typebox';
import { pageOf } from '../../http/openapi-responses.ts';
import {
  describedRef,
  filledText,
  timestamp,
  int64,
  NIGP_PATTERN,
  nullable,
  openEnum,
  refTo,
} from '../../http/openapi-schemas.ts';
import { namedRef } from '../schemas.ts';

export const solicitationStatus = openEnum(
  'SolicitationStatus',
  ['open', 'closed', 'awarded', 'cancelled'],
  'The stored status. Stays `open` after the deadline: `is_open` tells whether bidding is live.',
);

const listFields = {
  id: Type.String({
    minLength: 1,
    maxLength: 64,
    pattern: '^[0-9]*[A-Za-z_-][A-Za-z0-9_-]*$',
    description: 'The id of the solicitation. It is never all digits, as a `ref` is.',
    examples: ['sol_fed_grants_gov_pa_12_295'],
  }),
  ref: int64({
    minimum: 1,
    description: 'Numeric public id; the detail takes it in place of `id`.',
    examples: [10001],
  }),
  reference_number: filledText({ description: "The issuer's reference number.", examples: ['PA-12-295'] }),
  title: filledText({
    description: 'The title of the solicitation.',
    examples: ['Drug Abuse Aspects of HIV/AIDS (R21)'],
  }),
  status: refTo(solicitationStatus),
  issuing_organization: nullable(
    Type.String({ description: 'The organization that issued it; null if it is not known.' }),
  ),
  lead_entity: describedRef(namedRef, 'The lead entity that the solicitation belongs to.'),
  is_open: Type.Boolean({
    description:
      'True while the status is `open` and `close_at` is absent or in the future, at the moment of the request.',
  }),
  open_at: nullable(timestamp('When bidding opens.')),
  close_at: nullable(timestamp('When bidding closes; from then on `is_open` is false.')),
  questions_due_at: nullable(timestamp('Until when questions may be asked.')),
  intent_to_bid_due_at: nullable(timestamp('Until when intent to bid may be registered.')),
  updated_at: timestamp(
    'The last change of the solicitation itself. Notices, documents and questions do not move it: re-read the detail.',
  ),
};

export const solicitation = Type.Object(listFields, {
  $id: 'Solicitation',
  description: 'A solicitation (RFP) as lists show it.',
});

export const solicitationPage = pageOf(solicitation, 'A page of solicitations.');

const nigpCode = Type.Object(
  {
    code: Type.String({
      minLength: 3,
      maxLength: 11,
      pattern: NIGP_PATTERN,
      description: 'The NIGP class, zero-padded, of 3, 5, 7 or 11 digits.',
      examples: ['91027'],
    }),
    description: Type.String({ description: 'What the code means.' }),
  },
  { $id: 'SolicitationNigpCode', description: 'An NIGP code that the solicitation is tagged with.' },
);

const document = Type.Object(
  {
    id: int64({ description: 'The id of the document.' }),
    name: filledText({ description: 'The name of the document.' }),
    description: nullable(Type.String({ description: 'What the document is; null if there is no description.' })),
    file_type: nullable(Type.String({ description: 'The type of the file; null if it is not known.' })),
    file_size: nullable(int64({ minimum: 0, description: 'The size in bytes; null if it is not known.' })),
  },
  {
    $id: 'SolicitationDocument',
    description: 'Metadata of a supporting document; the file itself is not served.',
  },
);

const requestedItem = Type.Object(
  {
    id: int64({ description: 'The id of the item.' }),
    name: filledText({ description: 'The name of the item.' }),
    required: Type.Boolean({ description: 'Whether bidders must supply it.' }),
    file_type: nullable(Type.String({ description: 'The type of file that is expected; null if any is.' })),
    allows_multiple: Type.Boolean({ description: 'Whether bidders can supply more than one file.' }),
    instructions: nullable(Type.String({ description: 'What bidders must observe; null if there is nothing.' })),
    template_document_id: nullable(
      int64({ description: 'The `id` of the document that serves as its template; null if there is none.' }),
    ),
  },
  { $id: 'SolicitationRequestedItem', description: 'Something that bidders are asked to supply.' },
);

const notice = Type.Object(
  {
    id: int64({ description: 'The id of the notice.' }),
    title: filledText({ description: 'The title of the notice.' }),
    body: Type.String({ description: 'The text of the notice.' }),
    created_at: timestamp('When it was published.'),
  },
  { $id: 'SolicitationNotice', description: 'A public announcement of the issuer, such as an addendum.' },
);

const question = Type.Object(
  {
    id: int64({ description: 'The id of the question.' }),
    title: filledText({ description: 'The title of the question.' }),
    body: Type.String({ description: 'The text of the question.' }),
    answer: nullable(Type.String({ description: 'The answer of the issuer; null until there is one.' })),
    answered_at: nullable(timestamp('When it was answered.')),
    created_at: timestamp('When it was asked.'),
  },
  { $id: 'SolicitationQuestion', description: 'A published question, without who asked it, and its answer.' },
);

export const solicitationDetail = Type.Object(
  {
    ...listFields,
    description: nullable(Type.String({ description: 'What is asked for; null if there is no description.' })),
    require_intent_registration: Type.Boolean({
      description: 'Whether bidders must register their intent before they submit.',
    }),
    created_at: timestamp('When it was created.'),
    nigp_codes: Type.Array(refTo(nigpCode), { description: 'NIGP classes of 3, 5, 7 or 11 digits.' }),
    documents: Type.Array(refTo(document), { description: 'Supporting documents, as metadata only.' }),
    requested_items: Type.Array(refTo(requestedItem), { description: 'What bidders are asked to supply.' }),
    notices: Type.Array(refTo(notice), { description: 'Public announcements of the issuer.' }),
    questions: Type.Array(refTo(question), { description: 'Published questions and their answers.' }),
  },
  { $id: 'SolicitationDetail', description: 'A solicitation, whole.' },
);

export const count = Type.Object(
  { total: int64({ minimum: 0, description: 'How many solicitations match the filters.', examples: [6435] }) },
  { $id: 'Count', description: 'How many match.' },
);

/** All named schemas of solicitations for the OpenAPI document. */
export const solicitationSchemas = [
  solicitationStatus,
  solicitation,
  solicitationPage,
  solicitationDetail,
  nigpCode,
  document,
  requestedItem,
  notice,
  question,
  count,
];

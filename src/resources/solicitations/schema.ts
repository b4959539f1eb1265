import { pageOf } from '../../http/openapi/openapi-responses.ts';
import {
  describedRef,
  filledText,
  timestamp,
  int64,
  NIGP_PATTERN,
  nullable,
  object,
  openEnum,
  refTo,
} from '../../http/openapi/openapi-schemas.ts';
import { LEAD_ENTITY_EXAMPLE, namedRef } from '../reference-lists/reference-lists.ts';

export const solicitationStatus = openEnum(
  'SolicitationStatus',
  ['open', 'closed', 'awarded', 'cancelled'],
  'The stored status. It stays `open` after the deadline; `is_open` is true only while bidding is possible.',
);

const firstFields = {
  id: {
    type: 'string',
    minLength: 1,
    maxLength: 64,
    pattern: '^[0-9]*[A-Za-z_-][A-Za-z0-9_-]*$',
    description: 'The id of the solicitation. It is never all digits, unlike a `ref`.',
    examples: ['sol_fed_grants_gov_pa_12_295'],
  },
  ref: int64({
    minimum: 1,
    description: 'Numeric public id. The detail route accepts it instead of `id`.',
    examples: [10001],
  }),
  reference_number: filledText({ description: "The issuer's reference number.", examples: ['PA-12-295'] }),
  title: filledText({
    description: 'The title of the solicitation.',
    examples: ['Drug Abuse Aspects of HIV/AIDS (R21)'],
  }),
  status: refTo(solicitationStatus),
  issuing_organization: nullable({ type: 'string', description: 'The issuing organization; null if unknown.' }),
  lead_entity: describedRef(namedRef, 'The lead entity that the solicitation belongs to.', LEAD_ENTITY_EXAMPLE),
  open_at: nullable(timestamp('When bidding opens.', '2030-01-15T14:00:00.000Z')),
  close_at: nullable(timestamp('When bidding closes. From then on `is_open` is false.', '2030-04-15T17:00:00.000Z')),
  questions_due_at: nullable(timestamp('Deadline for questions.', '2030-02-15T17:00:00.000Z')),
  intent_to_bid_due_at: nullable(timestamp('Deadline for registering intent to bid.', '2030-03-01T17:00:00.000Z')),
};

/** Added when a record is read, after all others. */
const lastFields = {
  is_open: {
    type: 'boolean',
    description: 'True if the status is `open` and `close_at` is null or in the future, at the time of the request.',
  },
  updated_at: timestamp(
    'When the solicitation itself last changed. Notices, documents and questions do not count: request the detail again for them.',
  ),
};

export const solicitation = object(
  { ...firstFields, ...lastFields },
  { $id: 'Solicitation', description: 'A solicitation (RFP) in a list.' },
);

export const solicitationPage = pageOf(solicitation, 'A page of solicitations.');

const nigpCode = object(
  {
    code: {
      type: 'string',
      minLength: 3,
      maxLength: 11,
      pattern: NIGP_PATTERN,
      description: 'The NIGP class, zero-padded, of 3, 5, 7 or 11 digits.',
      examples: ['91027'],
    },
    description: { type: 'string', description: 'What the code means.' },
  },
  { $id: 'SolicitationNigpCode', description: 'An NIGP code that the solicitation is tagged with.' },
);

const document = object(
  {
    id: int64({ description: 'The id of the document.' }),
    name: filledText({ description: 'The name of the document.' }),
    description: nullable({ type: 'string', description: 'What the document is; null if there is no description.' }),
    file_type: nullable({ type: 'string', description: 'The type of the file; null if unknown.' }),
    file_size: nullable(int64({ minimum: 0, description: 'The size in bytes; null if unknown.' })),
  },
  {
    $id: 'SolicitationDocument',
    description: 'Metadata of a supporting document; the file itself is not served.',
  },
);

const requestedItem = object(
  {
    id: int64({ description: 'The id of the item.' }),
    name: filledText({ description: 'The name of the item.' }),
    required: { type: 'boolean', description: 'Whether bidders must supply it.' },
    file_type: nullable({ type: 'string', description: 'The expected file type; null if any is accepted.' }),
    allows_multiple: { type: 'boolean', description: 'Whether bidders can supply more than one file.' },
    instructions: nullable({ type: 'string', description: 'Instructions for bidders; null if there are none.' }),
    template_document_id: nullable(
      int64({ description: 'The `id` of the document that serves as its template; null if there is none.' }),
    ),
  },
  { $id: 'SolicitationRequestedItem', description: 'An item that bidders are asked to supply.' },
);

const notice = object(
  {
    id: int64({ description: 'The id of the notice.' }),
    title: filledText({ description: 'The title of the notice.' }),
    body: { type: 'string', description: 'The text of the notice.' },
    created_at: timestamp('When it was published.'),
  },
  { $id: 'SolicitationNotice', description: 'A public announcement of the issuer, such as an addendum.' },
);

const question = object(
  {
    id: int64({ description: 'The id of the question.' }),
    title: filledText({ description: 'The title of the question.' }),
    body: { type: 'string', description: 'The text of the question.' },
    answer: nullable({ type: 'string', description: 'The answer of the issuer; null until there is one.' }),
    answered_at: nullable(timestamp('When it was answered.', '2030-02-04T09:00:00.000Z')),
    created_at: timestamp('When it was asked.', '2030-02-01T09:00:00.000Z'),
  },
  {
    $id: 'SolicitationQuestion',
    description: 'A published question and its answer, without the name of the person who asked.',
  },
);

export const solicitationDetail = object(
  {
    ...firstFields,
    description: nullable({
      type: 'string',
      description: 'The goods or services to be procured; null if there is no description.',
    }),
    require_intent_registration: {
      type: 'boolean',
      description: 'Whether bidders must register their intent before they submit.',
    },
    created_at: timestamp('When it was created.', '2030-01-08T09:00:00.000Z'),
    nigp_codes: { type: 'array', items: refTo(nigpCode), description: 'NIGP classes of 3, 5, 7 or 11 digits.' },
    documents: { type: 'array', items: refTo(document), description: 'Supporting documents, as metadata only.' },
    requested_items: {
      type: 'array',
      items: refTo(requestedItem),
      description: 'The items that bidders must or can supply.',
    },
    notices: { type: 'array', items: refTo(notice), description: 'Public announcements of the issuer.' },
    questions: { type: 'array', items: refTo(question), description: 'Published questions and their answers.' },
    ...lastFields,
  },
  { $id: 'SolicitationDetail', description: 'A solicitation with everything published about it.' },
);

export const count = object(
  { total: int64({ minimum: 0, description: 'Number of solicitations that match the filters.', examples: [6435] }) },
  { $id: 'Count', description: 'The number of matching records.' },
);

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

import { describedRef, NIGP_PATTERN, objectSchema, openEnum, refTo } from '../../http/openapi/openapi-schemas.ts';
import {
  added,
  boolean,
  field,
  filledText,
  integer,
  items,
  list,
  nullable,
  ofDetail,
  oneOf,
  reference,
  servedProperties,
  text,
  TEXT,
  timestamp,
  updatedAt,
  type RecordOf,
} from '../fields.ts';
import { LEAD_ENTITY_EXAMPLE, namedRef } from '../reference-lists/fields.ts';
import { fieldRenderer } from '../rendered-fields.ts';

export const solicitationStatus = openEnum(
  'SolicitationStatus',
  ['open', 'closed', 'awarded', 'cancelled'],
  'The stored status. It stays `open` after the deadline; `is_open` is true only while bidding is possible.',
);

const nigpCode = items('SolicitationNigpCode', 'An NIGP code that the solicitation is tagged with.', {
  code: field<string>(
    { ...TEXT, pattern: NIGP_PATTERN, description: 'must be an NIGP code of 3, 5, 7 or 11 digits' },
    {
      type: 'string',
      minLength: 3,
      maxLength: 11,
      pattern: NIGP_PATTERN,
      description: 'The NIGP class, zero-padded, of 3, 5, 7 or 11 digits.',
      examples: ['91027'],
    },
  ),
  description: text('What the code means.'),
});

const document = items('SolicitationDocument', 'Metadata of a supporting document; the file itself is not served.', {
  id: integer('The id of the document.'),
  name: filledText('The name of the document.'),
  description: nullable(text('What the document is; null if there is no description.')),
  file_type: nullable(text('The type of the file; null if unknown.')),
  file_size: nullable(
    integer('The size in bytes; null if unknown.', { minimum: 0, reason: 'must be a whole number of bytes' }),
  ),
});

const requestedItem = items('SolicitationRequestedItem', 'An item that bidders are asked to supply.', {
  id: integer('The id of the item.'),
  name: filledText('The name of the item.'),
  required: boolean('Whether bidders must supply it.'),
  file_type: nullable(text('The expected file type; null if any is accepted.')),
  allows_multiple: boolean('Whether bidders can supply more than one file.'),
  instructions: nullable(text('Instructions for bidders; null if there are none.')),
  template_document_id: nullable(
    integer('The `id` of the document that serves as its template; null if there is none.'),
  ),
});

const notice = items('SolicitationNotice', 'A public announcement of the issuer, such as an addendum.', {
  id: integer('The id of the notice.'),
  title: filledText('The title of the notice.'),
  body: text('The text of the notice.'),
  created_at: timestamp('When it was published.'),
});

const question = items(
  'SolicitationQuestion',
  'A published question and its answer, without the name of the person who asked.',
  {
    id: integer('The id of the question.'),
    title: filledText('The title of the question.'),
    body: text('The text of the question.'),
    answer: nullable(text('The answer of the issuer; null until there is one.')),
    answered_at: nullable(timestamp('When it was answered.', '2030-02-04T09:00:00.000Z')),
    created_at: timestamp('When it was asked.', '2030-02-01T09:00:00.000Z'),
  },
);

/** A line of `solicitations.ndjson`, and a solicitation as it is served. */
export const solicitationFields = {
  id: field<string>(
    {
      ...TEXT,
      pattern: '^(?!count$)(?![0-9]+$)[A-Za-z0-9_-]{1,64}$',
      description:
        'must be 1 to 64 of the characters A-Z a-z 0-9 _ -, at least one of them no digit, and not "count", which is a path of its own',
    },
    {
      type: 'string',
      minLength: 1,
      maxLength: 64,
      pattern: '^[0-9]*[A-Za-z_-][A-Za-z0-9_-]*$',
      description: 'The id of the solicitation. It is never all digits, unlike a `ref`.',
      examples: ['sol_fed_grants_gov_pa_12_295'],
    },
  ),
  ref: integer('Numeric public id. The detail route accepts it instead of `id`.', {
    minimum: 1,
    example: 10001,
    reason: 'must be a positive whole number below 2^53',
  }),
  reference_number: filledText("The issuer's reference number.", 'PA-12-295'),
  title: filledText('The title of the solicitation.', 'Drug Abuse Aspects of HIV/AIDS (R21)'),
  status: oneOf(['draft', 'open', 'closed', 'awarded', 'cancelled'], refTo(solicitationStatus)),
  issuing_organization: nullable(text('The issuing organization; null if unknown.')),
  lead_entity: reference(
    'lead_entity_id',
    'lead-entities',
    describedRef(namedRef, 'The lead entity that the solicitation belongs to.', LEAD_ENTITY_EXAMPLE),
  ),
  open_at: nullable(timestamp('When bidding opens.', '2030-01-15T14:00:00.000Z')),
  close_at: nullable(timestamp('When bidding closes. From then on `is_open` is false.', '2030-04-15T17:00:00.000Z')),
  questions_due_at: nullable(timestamp('Deadline for questions.', '2030-02-15T17:00:00.000Z')),
  intent_to_bid_due_at: nullable(timestamp('Deadline for registering intent to bid.', '2030-03-01T17:00:00.000Z')),
  description: ofDetail(nullable(text('The goods or services to be procured; null if there is no description.'))),
  require_intent_registration: ofDetail(boolean('Whether bidders must register their intent before they submit.')),
  created_at: ofDetail(timestamp('When it was created.', '2030-01-08T09:00:00.000Z')),
  is_open: added<never>(null, {
    type: 'boolean',
    description: 'True if the status is `open` and `close_at` is null or in the future, at the time of the request.',
  }),
  updated_at: updatedAt(
    'When the solicitation itself last changed. Notices, documents and questions do not count: request the detail again for them.',
  ),
  nigp_codes: ofDetail(list(nigpCode, 'NIGP classes of 3, 5, 7 or 11 digits.')),
  documents: ofDetail(list(document, 'Supporting documents, as metadata only.')),
  requested_items: ofDetail(list(requestedItem, 'The items that bidders must or can supply.')),
  notices: ofDetail(list(notice, 'Public announcements of the issuer.')),
  questions: ofDetail(list(question, 'Published questions and their answers.')),
};

export type SolicitationRecord = RecordOf<typeof solicitationFields>;

export const solicitation = objectSchema(servedProperties(solicitationFields, 'list'), {
  $id: 'Solicitation',
  description: 'A solicitation (RFP) in a list.',
});

export const solicitationDetail = objectSchema(servedProperties(solicitationFields), {
  $id: 'SolicitationDetail',
  description: 'A solicitation with everything published about it.',
});

export const detailItems = [nigpCode, document, requestedItem, notice, question].map(({ schema }) => schema);

export const renderSolicitation = fieldRenderer(solicitationFields, 'list');

export const renderSolicitationDetail = fieldRenderer(solicitationFields, 'detail only');

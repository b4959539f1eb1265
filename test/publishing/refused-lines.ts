import { contract, solicitation, supplier, type ImportLines } from '../support/publishing.ts';

const created_at = '2026-01-01T00:00:00Z';
const document = { id: 7, name: 'Scope' };
const item = { id: 1, name: 'Price', required: true, file_type: null, allows_multiple: false, instructions: null };

const s = solicitation('sol_9', 9);
const coop = (fields: object): ImportLines => ({ coops: [{ id: 'co_1', name: 'X', ...fields }] });
const cert = (fields: object): ImportLines => ({
  certifications: [{ abbreviation: 'A', name: 'X', type: 'sbe', ...fields }],
});
const sup = (fields: object): ImportLines => ({ suppliers: [{ ...supplier('sup_9'), ...fields }] });
const ctr = (fields: object): ImportLines => ({ contracts: [{ ...contract('ctr_9'), ...fields }] });
const sol = (fields: object): ImportLines => ({ solicitations: [{ ...s, ...fields }] });

/** Rejected input: its description, its files, the reported field and reason, and the line if it is not the first. */
export const REFUSED_LINES: [what: string, files: ImportLines, field: string, reason: RegExp, line?: number | null][] =
  [
    ['a line that is not JSON', { coops: ['{"id": "co_1",'] }, '', /is not JSON/],
    ['a line that is not an object', { coops: [{ id: 'co_2', name: 'Y' }, '["co_1"]'] }, '', /found a list of 1$/, 2],
    ['a truncated line', { coops: ['{"id": "co_1" "name"}'] }, '', /^is not JSON: [^(]* at column 15$/],
    [
      'text in place of a list',
      sup({ states_served: 'PA' }),
      'states_served',
      /^must be a list, e\.g\. \["PA"\]; found "PA"$/,
    ],
    [
      'text in place of a list of ids',
      ctr({ supplier_ids: 's,t' }),
      'supplier_ids',
      /e\.g\. \["sup_1"\]; found "s,t"$/,
    ],
    [
      'an object in place of a list',
      sol({ documents: document }),
      'documents',
      /^must be a list of objects; found an object$/,
    ],
    ['text in a list of objects', sol({ nigp_codes: ['913'] }), 'nigp_codes[0]', /^must be an object; found "913"$/],
    ['a list in place of text', sup({ email: ['a@b'] }), 'email', /string, or null; found a list of 1$/],
    ['text in place of a number', sol({ ref: '7' }), 'ref', /whole number.*; found "7"$/],
    ['a missing field', { coops: [{ id: 'co_1' }] }, 'name', /is missing/],
    ['an unknown field', coop({ logo: '' }), 'logo', /not a field/],
    [
      'an unknown field, nested 50,000 levels deep around half a surrogate pair',
      { coops: [`{"id":"co_1","name":"X","x":${'['.repeat(50_000)}"\\ud800"${']'.repeat(50_000)}}`] },
      'x',
      /not a field/,
    ],
    [
      'a repeated id that is a property of every object',
      ctr({ supplier_ids: ['__proto__', '__proto__'] }),
      'supplier_ids',
      /"__proto__" twice/,
    ],
    ['a field named __proto__', { coops: ['{"id":"co_1","name":"X","__proto__":{}}'] }, '__proto__', /not a field/],
    [
      'the supplier who asked a question',
      sol({ questions: [{ id: 1, title: 'Q', body: '', created_at, supplier_id: 'sup_1' }] }),
      'questions[0].supplier_id',
      /not a field/,
    ],
    ['a wrong type', coop({ id: 7 }), 'id', /A-Z a-z 0-9/],
    ['null for a required field', coop({ name: null }), 'name', /not blank/],
    ['a blank name', coop({ name: ' \t' }), 'name', /not blank/],
    ['an id with a space', coop({ id: 'co 1' }), 'id', /A-Z a-z 0-9/],
    ['an id of 65 characters', coop({ id: 'c'.repeat(65) }), 'id', /1 to 64/],
    ['a solicitation id of digits only', sol({ id: '123' }), 'id', /no digit/],
    ['a solicitation id that is an API path', sol({ id: 'count' }), 'id', /"count"/],
    ['a contract id that is an API path', ctr({ id: 'count' }), 'id', /"count"/],
    ['a supplier id that is an API path', sup({ id: 'count' }), 'id', /"count"/],
    ['a repeated document id', sol({ documents: [document, document] }), 'documents[1].id', /already in this list/],
    ['a ref of zero', sol({ ref: 0 }), 'ref', /positive/],
    ['a fractional ref', sol({ ref: 1.5 }), 'ref', /positive/],
    ['a ref beyond 2^53', sol({ ref: 2 ** 53 }), 'ref', /2\^53/],
    ['an unknown status', sol({ status: 'pending' }), 'status', /one of draft, open/],
    ['a date without a time', sol({ close_at: '2026-04-15' }), 'close_at', /RFC 3339/],
    ['a timestamp without an offset', sol({ close_at: '2026-04-15T09:00:00' }), 'close_at', /offset/],
    ['an impossible date', sol({ close_at: '2026-02-30T09:00:00Z' }), 'close_at', /RFC 3339/],
    [
      'a code of four digits',
      sol({ nigp_codes: [{ code: '9130', description: '' }] }),
      'nigp_codes[0].code',
      /3, 5, 7 or 11/,
    ],
    [
      'a template that is not one of the documents',
      sol({ requested_items: [{ ...item, template_document_id: 5 }] }),
      'requested_items[0].template_document_id',
      /has no document 5/,
    ],
    ['an unknown state', sup({ states_served: ['PA', 'ZZ'] }), 'states_served[1]', /USPS/],
    ['a repeated state', sup({ states_served: ['PA', 'PA'] }), 'states_served', /"PA" twice/],
    ['a repeated supplier', ctr({ supplier_ids: ['sup_1', 'sup_1'] }), 'supplier_ids', /"sup_1" twice/],
    ['an unknown lead entity', ctr({ lead_entity_id: 'le_z' }), 'lead_entity_id', /there is no lead entity "le_z"/],
    ['an unknown coop', ctr({ coop_id: 'co_z' }), 'coop_id', /there is no coop "co_z"/],
    [
      'an unknown supplier',
      ctr({ supplier_ids: ['sup_1', 'sup_z'] }),
      'supplier_ids[1]',
      /there is no supplier "sup_z"/,
    ],
    [
      'an unknown service',
      sup({ city_service_ids: ['cs_z'] }),
      'city_service_ids[0]',
      /there is no city service "cs_z"/,
    ],
    [
      'an unknown certification',
      sup({ certifications: ['NO'] }),
      'certifications[0]',
      /there is no certification "NO"/,
    ],
    [
      'an unknown lead entity of a solicitation',
      sol({ lead_entity_id: 'le_z' }),
      'lead_entity_id',
      /there is no lead entity "le_z"/,
    ],
    ['a repeated id', { coops: ['X', 'Y'].map((name) => ({ id: 'co_1', name })) }, 'id', /already on line 1/, 2],
    [
      'a record that is also removed',
      {
        coops: [
          { id: 'co_1', name: 'X' },
          { id: 'co_1', deleted: true },
        ],
      },
      'id',
      /already on line 1/,
      2,
    ],
    ['a repeated ref', { solicitations: [s, { ...s, id: 'sol_10' }] }, 'ref', /already on line 1/, 2],
    ['a ref of a published record', sol({ ref: 1 }), 'ref', /1 is the ref of sol_1 and sol_9/],
    ['an abbreviation with a comma', cert({ abbreviation: 'A,B' }), 'abbreviation', /no comma/],
    [
      'an abbreviation that is too long for an index',
      cert({ abbreviation: 'A'.repeat(201) }),
      'abbreviation',
      /at most 200/,
    ],
    ['an abbreviation that ends with a space', cert({ abbreviation: 'A ' }), 'abbreviation', /no space/],
    ['a certification name with nothing after a comma', cert({ name: 'Trail, ' }), 'name', /comma/],
    ['a certification name with nothing between commas', cert({ name: 'X,,Y' }), 'name', /comma/],
    [
      'a certification name that differs in case only',
      cert({ abbreviation: 'M2', name: 'MINORITY business enterprise' }),
      'name',
      /ignoring case/,
    ],
    ['an unknown certification type', cert({ type: 'other' }), 'type', /sbe, technical/],
    ['an escaped NUL', { coops: ['{"id":"co_1","name":"a\\u0000b"}'] }, 'name', /NUL/],
    ['an escaped NUL in an id', sup({ id: 'sup_\0' }), 'id', /A-Z a-z 0-9/],
    ['an escaped NUL in the id of a removal', { suppliers: [{ id: 'sup_\0', deleted: true }] }, 'id', /NUL/],
    ['a raw NUL', { coops: ['{"id":"co_1","name":"a\0b"}'] }, '', /is not JSON/],
    ['half a surrogate pair', { coops: ['{"id":"co_1","name":"\\ud83d"}'] }, 'name', /surrogate/],
    ['invalid UTF-8', { coops: [Buffer.from('7b226964223aff7d', 'hex')] }, '', /UTF-8/],
    ['a removal that is not true', { coops: [{ id: 'co_1', deleted: false }] }, 'deleted', /must be true/],
    ['a removal with other fields', coop({ deleted: true }), 'name', /not a field/],
    [
      'the removal of a lead entity that a contract references',
      { 'lead-entities': [{ id: 'le_a', deleted: true }] },
      'id',
      /refers to it/,
    ],
    [
      'the removal of a supplier that a contract references',
      { suppliers: [{ id: 'sup_1', deleted: true }] },
      'id',
      /contract ctr_1 refers/,
    ],
    [
      'the removal of a certification that a supplier holds',
      { certifications: [{ abbreviation: 'MBE', deleted: true }] },
      'abbreviation',
      /supplier sup_1 refers/,
    ],
    ['a file of an unknown kind', { contract: [contract('ctr_9')] }, '', /not an import file/, null],
  ];

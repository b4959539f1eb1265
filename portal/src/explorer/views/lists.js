// The API's lists: their parameters, and the fields that their tables show.

import { listAddress } from '../address.js';
import { element } from '../dom.js';
import { day, time, webLink, yesOrNo } from '../format.js';
import { recordLink } from '../parts/links.js';
import { status, STATUSES } from '../parts/status.js';

/** @typedef {import('../dom.js').Child} Child */
/** @typedef {import('../../../../client/src/generated/types.gen.ts').Contract} Contract */
/** @typedef {import('../../../../client/src/generated/types.gen.ts').Supplier} Supplier */
/** @typedef {import('../../../../client/src/generated/types.gen.ts').Solicitation} Solicitation */
/** @typedef {import('../../../../client/src/generated/types.gen.ts').Certification} Certification */
/** @typedef {import('../../../../client/src/generated/types.gen.ts').NamedRef} NamedRef */

/**
 * A parameter of a list, shown as a form field.
 *
 * @typedef {object} Filter
 * @property {string} name as in the API
 * @property {string} label
 * @property {readonly string[]} [values] the only values it accepts
 * @property {boolean} [isSeveral] whether it takes several of its values
 * @property {string} [kind] of the records that it takes the IDs of; the form takes their names, too
 * @property {string} [hint]
 * @property {boolean} [isDate]
 */

/**
 * @typedef {object} List
 * @property {string} view its segment in the page's address
 * @property {string} title
 * @property {string} path
 * @property {string} [countPath] counts what the filters select
 * @property {readonly string[]} [statuses] that are counted beside the list
 * @property {(nowMs: number) => (one: any, other: any) => number} [byDeadline] the other order that a page can have
 * @property {readonly Filter[]} filters
 * @property {readonly string[]} titles of the columns
 * @property {readonly string[]} [brief] titles of the columns that a phone shows; all unless given
 * @property {(record: any) => (Child | readonly Child[])[]} cells of a record; the first names it
 */

/** @type {Filter} */
const SEARCH = { name: 'q', label: 'Search' };
/** @type {Filter} */
const LEAD_ENTITY = { name: 'lead_entity', label: 'Lead entity', kind: 'lead-entities' };
/** @type {Filter} */
const CITY_SERVICE = { name: 'city_service', label: 'City service', kind: 'city-services' };
/** @type {Filter} */
const UPDATED_SINCE = { name: 'updated_since', label: 'Updated since', isDate: true };

const UPDATED = 'Updated (UTC)';

/** @type {List} */
const SOLICITATIONS = {
  view: 'solicitations',
  title: 'Solicitations',
  path: '/v1/solicitations',
  countPath: '/v1/solicitations/count',
  statuses: STATUSES,
  byDeadline: (nowMs) => (/** @type {Solicitation} */ one, /** @type {Solicitation} */ other) =>
    urgency(one, nowMs) - urgency(other, nowMs),
  filters: [
    SEARCH,
    { name: 'status', label: 'Status', values: STATUSES, isSeveral: true },
    { name: 'is_open', label: 'Accepts bids now', values: ['true', 'false'] },
    LEAD_ENTITY,
    { name: 'nigp', label: 'NIGP codes', hint: '072,90600: any of them' },
    { name: 'closing_after', label: 'Closing after', isDate: true },
    { name: 'closing_before', label: 'Closing before', isDate: true },
    UPDATED_SINCE,
  ],
  titles: ['Title', 'Reference number', 'Status', 'Accepts bids now', 'Closes', 'Lead entity', UPDATED],
  brief: ['Status', 'Closes'],
  cells: (/** @type {Solicitation} */ record) => [
    recordLink('solicitations', record.id, record.title),
    record.reference_number,
    status(record.status),
    yesOrNo(record.is_open),
    time(record.close_at),
    record.lead_entity.name,
    day(record.updated_at),
  ],
};

/** @type {List} */
const CONTRACTS = {
  view: 'contracts',
  title: 'Contracts',
  path: '/v1/contracts',
  countPath: '/v1/contracts/count',
  filters: [
    SEARCH,
    LEAD_ENTITY,
    { name: 'coop', label: 'Cooperative', kind: 'coops' },
    { name: 'supplier', label: 'Supplier', kind: 'suppliers' },
    CITY_SERVICE,
    UPDATED_SINCE,
  ],
  titles: ['Name', 'Summary', 'Lead entity', 'Cooperative', 'Suppliers', UPDATED],
  brief: ['Summary', 'Lead entity'],
  cells: (/** @type {Contract} */ record) => [
    recordLink('contracts', record.id, record.name),
    record.summary,
    record.lead_entity.name,
    record.coop?.name ?? null,
    fewNames(record.suppliers),
    day(record.updated_at),
  ],
};

/** @type {List} */
const SUPPLIERS = {
  view: 'suppliers',
  title: 'Suppliers',
  path: '/v1/suppliers',
  countPath: '/v1/suppliers/count',
  filters: [
    SEARCH,
    { name: 'state', label: 'State', hint: 'MD,PA: any of them' },
    { name: 'certifications', label: 'Certifications', hint: 'MBE,DBE: all of them' },
    CITY_SERVICE,
    UPDATED_SINCE,
  ],
  titles: ['Name', 'Location', 'States served', 'Certifications', 'Website', UPDATED],
  brief: ['Location', 'Certifications'],
  cells: (/** @type {Supplier} */ record) => [
    recordLink('suppliers', record.id, record.name),
    record.location,
    record.states_served.join(', '),
    record.certifications.join(', '),
    webLink(record.website),
    day(record.updated_at),
  ],
};

/** @type {List} */
const CERTIFICATIONS = {
  view: 'certifications',
  title: 'Certifications',
  path: '/v1/certifications',
  filters: [SEARCH, { name: 'type', label: 'Type', values: ['sbe', 'technical'] }],
  titles: ['Abbreviation', 'Name', 'Type', 'Who has it'],
  cells: (/** @type {Certification} */ { abbreviation, name, type }) => [
    abbreviation,
    name,
    type,
    element(
      'a',
      { class: 'onward', href: listAddress('suppliers', { certifications: abbreviation }) },
      `Suppliers with ${abbreviation}`,
    ),
  ],
};

/**
 * A list of ids and names only.
 *
 * @param {string} view
 * @param {string} title
 * @param {string} parameter that filters other lists by one of its ids
 * @param {readonly string[]} narrowed views of those lists
 * @returns {List}
 */
function referenceList(view, title, parameter, narrowed) {
  return {
    view,
    title,
    path: `/v1/${view}`,
    filters: [SEARCH],
    titles: ['Name', 'ID', 'Records'],
    cells: (/** @type {NamedRef} */ { id, name }) => [
      name,
      element('code', {}, id),
      narrowed.flatMap((other, index) => [
        index === 0 ? null : ' ',
        element(
          'a',
          { class: 'onward', href: listAddress(other, { [parameter]: id }) },
          other,
          visuallyHidden(` of ${name}`),
        ),
      ]),
    ],
  };
}

/** In the order of the navigation links. @type {readonly List[]} */
export const LISTS = [
  SOLICITATIONS,
  CONTRACTS,
  SUPPLIERS,
  CERTIFICATIONS,
  referenceList('lead-entities', 'Lead entities', 'lead_entity', ['solicitations', 'contracts']),
  referenceList('coops', 'Cooperatives', 'coop', ['contracts']),
  referenceList('city-services', 'City services', 'city_service', ['contracts', 'suppliers']),
];

/** Less for a deadline that comes earlier; past ones follow, the latest first, and then those without one. @param {Solicitation} solicitation @param {number} nowMs */
function urgency({ close_at: closeAt }, nowMs) {
  if (closeAt === null) return Number.MAX_SAFE_INTEGER;
  const ms = Date.parse(closeAt);
  return ms >= nowMs ? ms : Number.MAX_SAFE_INTEGER - ms;
}

/** The first two names and the number of others: a contract can have hundreds. @param {readonly { name: string }[]} named */
function fewNames(named) {
  const names = named.slice(0, 2).map(({ name }) => name);
  const others = named.length - names.length;
  return names.join('; ') + (others > 0 ? `, and ${others} more` : '');
}

/** @param {string} text */
function visuallyHidden(text) {
  return element('span', { class: 'visually-hidden' }, text);
}

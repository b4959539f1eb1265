// Detail views of contracts and suppliers.

import { listAddress } from '../address.js';
import { description, element, table } from '../dom.js';
import { time, webLink } from '../format.js';
import { listLink, recordLink } from '../parts/links.js';

/** @typedef {import('../view.js').View} View */
/** @typedef {import('./lists.js').Contract} Contract */
/** @typedef {import('./lists.js').Supplier} Supplier */

/**
 * @param {string} id
 * @param {View} view
 * @returns {Promise<Node[]>}
 */
export async function showContract(id, view) {
  /** @type {Contract} */
  const contract = await view.ask(`/v1/contracts/${encodeURIComponent(id)}`);
  return [
    element('h2', { tabindex: '-1' }, contract.name),
    element('p', {}, contract.summary ?? ''),
    element('p', { class: 'text' }, contract.description ?? ''),
    description([
      ['ID', element('code', {}, contract.id)],
      ['Lead entity', listLink('contracts', 'lead_entity', contract.lead_entity)],
      ['Cooperative', contract.coop && listLink('contracts', 'coop', contract.coop)],
      [
        'City services',
        commaSeparated(contract.city_services.map((service) => listLink('contracts', 'city_service', service))),
      ],
      ['Updated', time(contract.updated_at)],
    ]),
    element('h3', {}, 'Suppliers'),
    contract.suppliers.length === 0
      ? element('p', { class: 'muted' }, 'None.')
      : table(
          'Suppliers of this contract',
          ['Name', 'Location', 'States served', 'E-mail', 'Website'],
          contract.suppliers.map((supplier) => [
            recordLink('suppliers', supplier.id, supplier.name),
            supplier.location,
            supplier.states_served.join(', '),
            supplier.email,
            webLink(supplier.website),
          ]),
        ),
  ];
}

/**
 * @param {string} id
 * @param {View} view
 * @returns {Promise<Node[]>}
 */
export async function showSupplier(id, view) {
  /** @type {Supplier} */
  const supplier = await view.ask(`/v1/suppliers/${encodeURIComponent(id)}`);
  return [
    element('h2', { tabindex: '-1' }, supplier.name),
    description([
      ['ID', element('code', {}, supplier.id)],
      ['Location', supplier.location],
      ['States served', supplier.states_served.join(', ')],
      ['Certifications', supplier.certifications.join(', ')],
      ['E-mail', supplier.email],
      ['Website', webLink(supplier.website)],
      ['Logo', webLink(supplier.logo)],
      ['Updated', time(supplier.updated_at)],
    ]),
    element(
      'p',
      {},
      element('a', { class: 'onward', href: listAddress('contracts', { supplier: supplier.id }) }, 'Its contracts'),
    ),
  ];
}

/** @param {readonly Node[]} nodes */
function commaSeparated(nodes) {
  return nodes.flatMap((node, index) => (index === 0 ? [node] : [', ', node]));
}

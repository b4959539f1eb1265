import { z } from 'zod';
import type { Contract, Supplier } from '../../../client/src/index.ts';
import { brief, continuation, firstPage, listLink, recordLink, renderMatches } from '../answers.ts';
import type { Service } from '../service.ts';
import { idOf, SEARCH, type Tool } from '../tool.ts';

/** Suppliers of a contract that a list names. */
const MAX_SUPPLIERS = 3;

const ofContracts = z.strictObject({
  ...SEARCH,
  lead_entity: idOf('lead entity, which awarded the contract'),
  coop: idOf('cooperative'),
  supplier: z.string().min(1).optional().describe('Id of a supplier, from search_suppliers or a record'),
  city_service: idOf('city service, which is bought'),
});

export const searchContracts: Tool<typeof ofContracts> = {
  name: 'search_contracts',
  description:
    'Finds cooperative purchasing contracts to buy from, by words, lead entity, cooperative, supplier or city service. In the order of ids.',
  input: ofContracts,
  async call(service, { words, limit, cursor, ...ids }, options) {
    const filters = { q: words, ...ids };
    const page = await firstPage(service.client.contracts.list({ ...filters, limit, cursor }, options));
    const lines = page.data.map((contract) => contractLine(service, contract));
    const next = 'get_record with kind "contracts" has all of one; the id of a supplier finds its other contracts.';
    const link = listLink(service, 'contracts', filters);
    return renderMatches([`${lines.length} contracts.`, continuation(page.nextCursor), link], lines, next);
  },
};

function contractLine(service: Service, { id, name, summary, description, lead_entity, coop, suppliers }: Contract) {
  const named = suppliers.slice(0, MAX_SUPPLIERS).map((supplier) => ({ id: supplier.id, name: supplier.name }));
  const other_suppliers = suppliers.length - named.length;
  const about = brief(summary ?? description ?? '');
  const link = recordLink(service, 'contracts', id);
  return { id, name, about, lead_entity, coop, suppliers: named, other_suppliers, link };
}

const ofSuppliers = z.strictObject({
  ...SEARCH,
  state: z.string().length(2).optional().describe('They serve it or are based in it: two letters, such as TX'),
  certifications: z.array(z.string()).max(20).default([]).describe('Such as ["MBE", "WBE"]: they hold all of these'),
  city_service: idOf('city service, which they offer'),
});

export const searchSuppliers: Tool<typeof ofSuppliers> = {
  name: 'search_suppliers',
  description:
    'Finds suppliers by words, state, city service or certifications, such as minority- or woman-owned. In the order of ids.',
  input: ofSuppliers,
  async call(service, { words, certifications, limit, cursor, ...others }, options) {
    const held = certifications.length === 0 ? undefined : certifications.join(',');
    const filters = { q: words, certifications: held, ...others };
    const page = await firstPage(service.client.suppliers.list({ ...filters, limit, cursor }, options));
    const lines = page.data.map((supplier) => supplierLine(service, supplier));
    const next = 'search_contracts with the id as supplier; get_record with kind "suppliers" has its contact.';
    const link = listLink(service, 'suppliers', filters);
    return renderMatches([`${lines.length} suppliers.`, continuation(page.nextCursor), link], lines, next);
  },
};

function supplierLine(service: Service, { id, name, location, states_served, certifications }: Supplier) {
  return { id, name, location, states_served, certifications, link: recordLink(service, 'suppliers', id) };
}

import { join } from 'node:path';
import type { HttpRequest } from '../load/load.ts';
import type { RunningCandidate } from './candidate.ts';
import { PEERS_FOLDER, POSTGRAPHILE } from './peers.ts';
import { PAGE, type Question } from './question.ts';
import { nodeProgram, startServer } from './start-server.ts';

const LEAD_ENTITY = 'leadEntityByLeadEntityId { id: rowId name }';
const LISTED = `id: rowId ref referenceNumber title status issuingOrganization ${LEAD_ENTITY} openAt closeAt
  questionsDueAt intentToBidDueAt updatedAt`;
const DETAILED = `${LISTED} description requireIntentRegistration createdAt nigpCodes documents requestedItems notices questions`;

const LIST = `query List($filter: SolicitationFilter) {
  allSolicitations(first: ${PAGE}, orderBy: ROW_ID_ASC, filter: $filter) { nodes { ${LISTED} } }
}`;
const DETAIL = `query Detail($id: String!) { solicitationByRowId(rowId: $id) { ${DETAILED} } }`;
const CONTRACTS = `query Contracts($after: String!) {
  allContracts(first: ${PAGE}, orderBy: ROW_ID_ASC, filter: { rowId: { greaterThan: $after } }) { nodes {
    id: rowId name summary description leadEntityByLeadEntityId { id: rowId name } coopByCoopId { id: rowId name }
    contractSuppliersByContractId(orderBy: PLACE_ASC) { nodes { supplierBySupplierId {
      id: rowId name statesServed location logo email website } } }
    contractCityServicesByContractId(orderBy: PLACE_ASC) { nodes { cityServiceByCityServiceId { id: rowId name } } }
    updatedAt
  } }
}`;

/** GraphQL with variables, so that each operation is planned only once. */
export async function startPostGraphile(plainUrl: string): Promise<RunningCandidate> {
  return startServer({
    name: POSTGRAPHILE,
    headers: () => ({ 'Content-Type': 'application/json' }),
    command: nodeProgram(join(PEERS_FOLDER, 'postgraphile-server.js'), plainUrl),
    requestFor,
  });
}

function requestFor(question: Question): HttpRequest | null {
  switch (question.kind) {
    case 'detail':
      return post(DETAIL, { id: question.id });
    case 'contracts':
      return post(CONTRACTS, { after: question.after });
    case 'count':
      return null;
    case 'list': {
      const { leadEntity, status, closingAfter, q } = question.filters;
      if (q !== undefined) return null;
      const filter = {
        ...(leadEntity !== undefined && { leadEntityId: { equalTo: leadEntity } }),
        ...(closingAfter !== undefined && { closeAt: { greaterThanOrEqualTo: closingAfter } }),
        ...(question.after !== undefined && { rowId: { greaterThan: question.after } }),
        status: status === undefined ? { notEqualTo: 'draft' } : { equalTo: status },
      };
      return post(LIST, { filter });
    }
  }
}

function post(query: string, variables: object): HttpRequest {
  return { path: '/graphql', body: JSON.stringify({ query: query.replace(/\s+/g, ' '), variables }) };
}

import { idFor } from '../ids.ts';
import { distinctBy, firstText, objectAt, objectsAt, textAt, type JsonObject } from '../json.ts';
import { findOrganization, organizationId, withRole, type Organization } from './organizations.ts';
import { parseTime, type ContractingProcess } from './process.ts';
import { servicesOf, type Service } from './services.ts';
import { findTitle } from './solicitations.ts';

/** A contract with what it refers to. */
export interface ConvertedContract {
  record: { id: string } & JsonObject;
  suppliers: Organization[];
  coop: Organization | null;
  services: Service[];
}

/**
 * The contracts of a process that partners can buy from.
 *
 * With `current`, those that are active (or have no status) and have not ended; with `signed`, ended ones as well. With
 * `awards`, and always for framework agreements, each active award of a process without contracts counts as one: the
 * award concludes the agreement. Pending and cancelled contracts are never converted.
 *
 * @throws ValueError
 */
export function toContracts(process: ContractingProcess, leadEntity: Organization): ConvertedContract[] {
  const { release, options, report } = process;
  if (options.contracts === 'none') return [];
  const signed = objectsAt(release, 'contracts');
  if (isCallOff(release)) {
    report.dropped('contracts under a framework agreement', signed.length);
    return [];
  }
  const awards = objectsAt(release, 'awards');
  const isFramework = isFrameworkAgreement(release);
  const coop = isFramework ? coopOf(process, leadEntity) : null;
  const found: ConvertedContract[] = [];
  const take = (contract: JsonObject, award: JsonObject, source: 'contracts' | 'awards'): void => {
    const period = [objectAt(contract, 'period'), objectAt(award, 'contractPeriod')].find(
      (one) => Object.keys(one).length > 0,
    );
    const endText = textAt(period, 'endDate');
    const endsAt = endText === null ? null : parseTime(process, endText, `${source}.period.endDate`);
    if (options.contracts !== 'signed' && endsAt !== null && endsAt < options.asOf) {
      report.dropped('contracts that have ended (kept with --contracts signed)');
      return;
    }
    found.push(toContract(process, contract, award, describePeriod(period), leadEntity, coop));
  };
  for (const contract of signed) {
    const award = awards.find((one) => textAt(one, 'id') === textAt(contract, 'awardID')) ?? {};
    const status = textAt(contract, 'status') ?? 'active';
    if (status === 'active' || (options.contracts === 'signed' && status === 'terminated')) {
      take(contract, award, 'contracts');
    } else report.dropped(`contracts with the status ${status}`);
  }
  if (signed.length === 0 && (isFramework || options.contracts === 'awards')) {
    for (const award of awards) if ((textAt(award, 'status') ?? 'active') === 'active') take({}, award, 'awards');
  } else if (signed.length === 0) {
    report.dropped('awards without a contract (kept with --contracts awards)', awards.length);
  }
  return found;
}

function toContract(
  process: ContractingProcess,
  contract: JsonObject,
  award: JsonObject,
  summary: string | null,
  leadEntity: Organization,
  coop: Organization | null,
): ConvertedContract {
  const { ocid, release, options } = process;
  const tender = objectAt(release, 'tender');
  const references = [contract, award].map((one) => objectsAt(one, 'suppliers')).find(({ length }) => length > 0) ?? [];
  const suppliers = distinctBy(
    references.flatMap((reference) => findOrganization(process, reference) ?? []),
    ({ key }) => key,
  );
  const services = servicesOf([...[contract, award, tender].map((one) => objectsAt(one, 'items')), [tender]], options);
  const titles = [contract, award].map((one) => textAt(one, 'title'));
  const record = {
    id: idFor('ctr_', `${ocid}_${firstText(textAt(contract, 'id'), textAt(award, 'id')) ?? ''}`),
    name: firstText(...titles, findTitle(process), textAt(contract, 'description')) ?? ocid,
    summary,
    description: firstText(...[contract, award, tender].map((one) => textAt(one, 'description'))),
    lead_entity_id: organizationId('le_', leadEntity),
    coop_id: coop === null ? null : organizationId('co_', coop),
    supplier_ids: suppliers.map((supplier) => organizationId('sup_', supplier)),
    city_service_ids: services.map(({ id }) => id),
  };
  return { record, suppliers, coop, services };
}

/** The format has no other place for the period of a contract. */
function describePeriod(period: JsonObject | undefined): string | null {
  const [from, to] = ['startDate', 'endDate'].map((key) => textAt(period, key)?.slice(0, '0000-00-00'.length));
  if (from !== undefined) return to === undefined ? `Runs from ${from}` : `Runs ${from} to ${to}`;
  return to === undefined ? null : `Runs to ${to}`;
}

/** OCDS has no cooperative: it is who buys for others by a framework agreement. */
function coopOf(process: ContractingProcess, leadEntity: Organization): Organization | null {
  const [buyer] = ['wholesaleBuyer', 'centralPurchasingBody'].flatMap((role) => withRole(process, role));
  return buyer === undefined || buyer.key === leadEntity.key ? null : buyer;
}

/** The first stage of a framework agreement, or such a lot. */
function isFrameworkAgreement(release: JsonObject): boolean {
  const tender = objectAt(release, 'tender');
  return [tender, ...objectsAt(tender, 'lots')].some(
    (one) => objectAt(one, 'techniques')['hasFrameworkAgreement'] === true,
  );
}

/** A second stage: a call under a framework agreement that is published as another process. */
function isCallOff(release: JsonObject): boolean {
  return objectsAt(release, 'relatedProcesses').some(({ relationship }) =>
    Array.isArray(relationship) ? relationship.includes('framework') : relationship === 'framework',
  );
}

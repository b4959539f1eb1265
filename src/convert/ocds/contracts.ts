import { idFor } from '../ids.ts';
import { firstText, objectAt, objectsAt, textAt, type JsonObject } from '../json.ts';
import type { ConversionReport } from '../report.ts';
import type { OcdsOptions } from './options.ts';
import { findOrganization, organizationId, organizationOf, withRole, type Organization } from './organizations.ts';
import type { ContractingProcess } from './process.ts';
import { servicesOf, type Service } from './services.ts';
import { findTitle } from './solicitations.ts';
import { Times } from './times.ts';

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
 * @throws FieldError
 */
export function toContracts(
  process: ContractingProcess,
  leadEntity: Organization,
  options: OcdsOptions,
  report: ConversionReport,
): ConvertedContract[] {
  const { release } = process;
  if (options.contracts === 'none') return [];
  if (!options.callOffs && isCallOff(release)) {
    report.dropped(
      'contracts under a framework agreement (kept with --call-offs)',
      objectsAt(release, 'contracts').length,
    );
    return [];
  }
  const awards = objectsAt(release, 'awards');
  const signed = objectsAt(release, 'contracts');
  const isFramework = isFrameworkAgreement(release);
  const found: ConvertedContract[] = [];
  const times = new Times(options, report);
  const take = (contract: JsonObject, award: JsonObject, source: 'contracts' | 'awards'): void => {
    const period = [objectAt(contract, 'period'), objectAt(award, 'contractPeriod')].find(
      (one) => Object.keys(one).length > 0,
    );
    const endText = textAt(period, 'endDate');
    const endsAt = endText === null ? null : times.parse(endText, `${source}.period.endDate`);
    if (options.contracts !== 'signed' && endsAt !== null && endsAt < options.asOf) {
      report.dropped('contracts that have ended (kept with --contracts signed)');
      return;
    }
    found.push(toContract(process, { contract, award, period, leadEntity, isFramework }, options, report));
  };
  for (const contract of signed) {
    const award = awards.find((one) => textAt(one, 'id') === textAt(contract, 'awardID')) ?? {};
    const status = textAt(contract, 'status');
    const isTaken =
      status === null || status === 'active' || (options.contracts === 'signed' && status === 'terminated');
    if (isTaken) take(contract, award, 'contracts');
    else report.dropped(`contracts with the status ${status}`);
  }
  if (signed.length === 0 && (isFramework || options.contracts === 'awards')) {
    for (const award of awards.filter((one) => (textAt(one, 'status') ?? 'active') === 'active'))
      take({}, award, 'awards');
  } else if (signed.length === 0) {
    report.dropped('awards without a contract (kept with --contracts awards)', awards.length);
  }
  return found;
}

interface ContractParts {
  contract: JsonObject;
  award: JsonObject;
  period: JsonObject | undefined;
  leadEntity: Organization;
  isFramework: boolean;
}

function toContract(
  process: ContractingProcess,
  { contract, award, period, leadEntity, isFramework }: ContractParts,
  options: OcdsOptions,
  report: ConversionReport,
): ConvertedContract {
  const { ocid, release } = process;
  const contractId = firstText(textAt(contract, 'id'), textAt(award, 'id')) ?? '';
  const suppliers = suppliersOf(process, contract, award, report);
  const coop = coopOf(process, leadEntity, isFramework, options);
  const services = servicesOf(
    [contract, award, objectAt(release, 'tender')]
      .map((one) => objectsAt(one, 'items'))
      .concat([[objectAt(release, 'tender')]]),
    options,
  );
  const from = textAt(period, 'startDate')?.slice(0, '0000-00-00'.length);
  const to = textAt(period, 'endDate')?.slice(0, '0000-00-00'.length);
  const record = {
    id: idFor('ctr_', `${ocid}_${contractId}`),
    name:
      firstText(
        textAt(contract, 'title'),
        textAt(award, 'title'),
        findTitle(process),
        textAt(contract, 'description'),
      ) ?? ocid,
    summary: describePeriod(from, to),
    description: firstText(...[contract, award, objectAt(release, 'tender')].map((one) => textAt(one, 'description'))),
    lead_entity_id: organizationId('le_', leadEntity),
    coop_id: coop === null ? null : organizationId('co_', coop),
    supplier_ids: suppliers.map((supplier) => organizationId('sup_', supplier)),
    city_service_ids: services.map(({ id }) => id),
  };
  return { record, suppliers, coop, services };
}

/** The format has no other place for the period of a contract. */
function describePeriod(from: string | undefined, to: string | undefined): string | null {
  if (from !== undefined) return to === undefined ? `Runs from ${from}` : `Runs ${from} to ${to}`;
  return to === undefined ? null : `Runs to ${to}`;
}

function suppliersOf(
  process: ContractingProcess,
  contract: JsonObject,
  award: JsonObject,
  report: ConversionReport,
): Organization[] {
  const own = objectsAt(contract, 'suppliers');
  const references = own.length > 0 ? own : objectsAt(award, 'suppliers');
  const found = new Map<string, Organization>();
  for (const reference of references) {
    const supplier = findOrganization(process, reference, report);
    if (supplier !== null && !found.has(supplier.key)) found.set(supplier.key, supplier);
  }
  return [...found.values()];
}

/** OCDS has no cooperative: it is who buys for others by a framework agreement. */
function coopOf(
  process: ContractingProcess,
  leadEntity: Organization,
  isFramework: boolean,
  options: OcdsOptions,
): Organization | null {
  if (options.coop !== null) return organizationOf({ name: options.coop }, null);
  if (!isFramework) return null;
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

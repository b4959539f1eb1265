import { basename } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { readTimestamp } from '../dates.ts';
import { firstText, isDeeperThan, MAX_DEPTH, objectAt, objectsAt, textAt, type JsonObject } from '../json.ts';
import { KINDS } from '../../kinds.ts';
import type { ConversionReport } from '../report.ts';
import { ValueError } from '../value-error.ts';
import type { Workspace } from '../workspace.ts';
import { toContracts, type ConvertedContract } from './contracts.ts';
import type { OcdsOptions } from './options.ts';
import { organizationId, type Organization } from './organizations.ts';
import { countDropped, openProcess, type ContractingProcess } from './process.ts';
import { readParts, UnreadableInputError } from './read-parts.ts';
import { getLeadEntity, toSolicitation } from './solicitations.ts';

/** The kinds that OCDS can become. */
export const OCDS_KINDS = KINDS.filter((kind) => kind !== 'certifications');

const PROCESSES_PER_TICK = 200;

/**
 * Converts OCDS files to records in the workspace. The report lists everything that cannot be mapped; the rest is
 * converted.
 *
 * @param onRead called with the number of bytes read; also with 0 between processes, to notice an interruption.
 */
export async function convertOcds(
  paths: readonly string[],
  options: OcdsOptions,
  workspace: Workspace,
  report: ConversionReport,
  onRead: (bytes: number) => void,
): Promise<void> {
  for (const path of paths) await readFile(path, options, workspace, report, onRead);
  const owners = new Map<unknown, string>();
  let count = 0;
  for (const { ocid, parts } of workspace.processes()) {
    if (count % PROCESSES_PER_TICK === 0) {
      // A signal is received between ticks only.
      await setImmediate();
      onRead(0);
    }
    count += 1;
    try {
      const process = openProcess(ocid, parts, options, report);
      report.read('processes');
      countDropped(process);
      convertProcess(process, owners, workspace);
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      const { file, place } = parts.at(-1) ?? parts[0];
      report.refuse({ file, place, field: error.field, id: ocid, reason: error.message });
    }
  }
}

async function readFile(
  path: string,
  options: OcdsOptions,
  workspace: Workspace,
  report: ConversionReport,
  onRead: (bytes: number) => void,
): Promise<void> {
  const file = basename(path);
  let isEmpty = true;
  try {
    for await (const { form, ocid, value, place } of readParts(path, onRead)) {
      isEmpty = false;
      try {
        const text = textAt(value, 'date');
        if (ocid === null || text === null) throw new ValueError('is missing', ocid === null ? 'ocid' : 'date');
        if (isDeeperThan(MAX_DEPTH, value)) throw new ValueError(`is nested more than ${MAX_DEPTH} levels deep`);
        // In UTC, so that the order of texts is the order of times.
        const date = readTimestamp(text, options.zone, 'date');
        workspace.addPart(ocid, { form, date, json: JSON.stringify(value), file, place });
        report.read(form === 'linked' ? 'linked releases' : form === 'compiled' ? 'compiled releases' : 'releases');
      } catch (error) {
        if (!(error instanceof ValueError)) throw error;
        report.refuse({ file, place, field: error.field, id: ocid, reason: error.message });
      }
    }
    if (isEmpty) throw new UnreadableInputError('', 'contains no OCDS release or record');
  } catch (error) {
    if (!(error instanceof UnreadableInputError)) throw error;
    report.refuse({ file, place: error.place, field: '', id: null, reason: error.message });
  }
}

/** @throws ValueError */
function convertProcess(process: ContractingProcess, owners: Map<unknown, string>, workspace: Workspace): void {
  const { lastDate: rank, options } = process;
  const leadEntity = getLeadEntity(process);
  const solicitation = toSolicitation(process, leadEntity);
  const contracts = toContracts(process, leadEntity);
  claimIds(process, contracts, solicitation?.['ref'], owners);
  if (solicitation !== null) workspace.putRecord('solicitations', solicitation.id, rank, solicitation);
  if (solicitation !== null || contracts.length > 0) put(workspace, 'lead-entities', 'le_', leadEntity, rank);
  for (const { record, suppliers, coop, services } of contracts) {
    if (coop !== null) put(workspace, 'coops', 'co_', coop, rank);
    for (const service of services) workspace.putRecord('city-services', service.id, '', service);
    for (const supplier of suppliers) {
      const id = organizationId('sup_', supplier);
      workspace.putRecord('suppliers', id, rank, toSupplier(id, supplier, options));
    }
    workspace.putRecord('contracts', record.id, rank, record);
  }
}

/**
 * Notes which process uses each contract's id and solicitation's number: those of publishers can collide.
 *
 * @throws ValueError if another record has one of them.
 */
function claimIds(
  { ocid, release }: ContractingProcess,
  contracts: readonly ConvertedContract[],
  ref: unknown,
  owners: Map<unknown, string>,
): void {
  const field = objectsAt(release, 'contracts').length > 0 ? 'contracts.id' : 'awards.id';
  const claims: [key: unknown, field: string][] = contracts.map(({ record }) => [record.id, field]);
  if (new Set(claims.map(([id]) => id)).size < claims.length) {
    throw new ValueError('is missing or repeated; each contract of a process needs its own', field);
  }
  if (ref !== undefined) claims.push([ref, 'ocid']);
  for (const [key, source] of claims) {
    const other = owners.get(key);
    if (other === undefined) continue;
    const id = `${typeof key === 'number' ? 'number' : 'id'} ${String(key)}`;
    throw new ValueError(`gives the ${id}, which ${other} already has; leave out one of them`, source);
  }
  for (const [key] of claims) owners.set(key, ocid);
}

function put(workspace: Workspace, kind: string, prefix: string, organization: Organization, rank: string): void {
  const id = organizationId(prefix, organization);
  workspace.putRecord(kind, id, rank, { id, name: organization.name });
}

function toSupplier(id: string, { name, party }: Organization, { contactPoints }: OcdsOptions): JsonObject {
  const contact = objectAt(party, 'contactPoint');
  return {
    id,
    name,
    short_intro: null,
    about: null,
    states_served: [],
    certifications: [],
    city_service_ids: [],
    location: locationOf(objectAt(party, 'address')),
    logo: null,
    email: contactPoints ? textAt(contact, 'email') : null,
    website: firstText(textAt(contact, 'url'), textAt(party, 'details', 'url')),
  };
}

const STATE = /^[A-Z]{2}$/;
const UNITED_STATES = /^(US|USA|United States( of America)?)$/i;

/** `City, ST` in the United States, else city and country. */
function locationOf(address: JsonObject): string | null {
  const [city, region, country] = ['locality', 'region', 'countryName'].map((key) => textAt(address, key) ?? '');
  const isAmerican = city !== '' && STATE.test(region ?? '') && UNITED_STATES.test(country ?? '');
  const parts = [city, isAmerican ? region : country];
  return parts.filter((part) => part !== '').join(', ') || null;
}

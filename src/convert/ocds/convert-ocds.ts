import { basename } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { DateError, readTimestamp } from '../dates.ts';
import { firstText, isDeeperThan, MAX_DEPTH, objectAt, objectsAt, textAt, type JsonObject } from '../json.ts';
import { KINDS } from '../../kinds.ts';
import type { ConversionReport } from '../report.ts';
import type { Workspace } from '../workspace.ts';
import { toContracts, type ConvertedContract } from './contracts.ts';
import type { OcdsOptions } from './options.ts';
import { organizationId, type Organization } from './organizations.ts';
import { countDropped, findState, type ContractingProcess } from './process.ts';
import { readParts, UnreadableInputError } from './read-parts.ts';
import { getLeadEntity, toSolicitation } from './solicitations.ts';
import { FieldError } from './times.ts';

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
    const process = findState(ocid, parts, report);
    if (process === null) continue;
    report.read('processes');
    countDropped(process.release, report);
    convertProcess(process, owners, options, workspace, report);
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
      const refuse = (field: string, reason: string): void => report.refuse({ file, place, field, id: ocid, reason });
      const given = textAt(value, 'date');
      if (ocid === null || given === null) {
        refuse(ocid === null ? 'ocid' : 'date', 'is missing');
        continue;
      }
      if (isDeeperThan(MAX_DEPTH, value)) {
        refuse('', `is nested more than ${MAX_DEPTH} levels deep`);
        continue;
      }
      // In UTC, so that the order of texts is the order of times.
      const date = findTimestamp(given, options.zone, refuse);
      if (date === null) continue;
      workspace.addPart(ocid, { form, date, json: JSON.stringify(value), file, place });
      report.read(form === 'linked' ? 'linked releases' : form === 'compiled' ? 'compiled releases' : 'releases');
    }
    if (isEmpty) report.refuse({ file, place: '', field: '', id: null, reason: 'contains no OCDS release or record' });
  } catch (error) {
    if (!(error instanceof UnreadableInputError)) throw error;
    report.refuse({ file, place: error.place, field: '', id: null, reason: error.message });
  }
}

function findTimestamp(
  text: string,
  zone: string | null,
  refuse: (field: string, reason: string) => void,
): string | null {
  try {
    return readTimestamp(text, zone);
  } catch (error) {
    if (!(error instanceof DateError)) throw error;
    refuse('date', error.message);
    return null;
  }
}

function convertProcess(
  process: ContractingProcess,
  owners: Map<unknown, string>,
  options: OcdsOptions,
  workspace: Workspace,
  report: ConversionReport,
): void {
  const { ocid, file, place, lastDate: rank } = process;
  try {
    const leadEntity = getLeadEntity(process, report);
    const solicitation = toSolicitation(process, leadEntity, options, report);
    const contracts = toContracts(process, leadEntity, options, report);
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
  } catch (error) {
    if (!(error instanceof FieldError)) throw error;
    report.refuse({ file, place, field: error.field, id: ocid, reason: error.message });
  }
}

/**
 * Notes which process uses each contract's id and solicitation's number: those of publishers can collide.
 *
 * @throws FieldError if another record has one of them.
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
    throw new FieldError(field, 'is missing or repeated; each contract of a process needs its own');
  }
  if (ref !== undefined) claims.push([ref, 'ocid']);
  for (const [key, source] of claims) {
    const other = owners.get(key);
    if (other !== undefined)
      throw new FieldError(
        source,
        `gives the ${typeof key === 'number' ? 'number' : 'id'} ${String(key)}, which ${other} already has; leave out one of them`,
      );
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
  const [city, region, country] = ['locality', 'region', 'countryName'].map((key) => textAt(address, key) ?? null);
  if (
    typeof city === 'string' &&
    typeof region === 'string' &&
    STATE.test(region) &&
    UNITED_STATES.test(country ?? '')
  ) {
    return `${city}, ${region}`;
  }
  const parts = [city, country].filter((part) => typeof part === 'string');
  return parts.length === 0 ? null : parts.join(', ');
}

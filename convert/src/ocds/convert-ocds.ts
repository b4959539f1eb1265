import { basename } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { readTimestamp } from '../dates.ts';
import { firstText, isDeeperThan, MAX_DEPTH, objectAt, objectsAt, textAt, type JsonObject } from '../json.ts';
import { KINDS, type Kind } from '../import-format.ts';
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

type ConvertedRecord = { id: string } & JsonObject;

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
  const owners = new Map<string, string>();
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
      report.refuse({ file, place, field: error.field, id: ocid, reason: error.message, value: error.value });
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
        report.read(form === 'release' ? 'releases' : `${form} releases`);
      } catch (error) {
        if (!(error instanceof ValueError)) throw error;
        report.refuse({ file, place, field: error.field, id: ocid, reason: error.message, value: error.value });
      }
    }
    if (isEmpty) throw new UnreadableInputError('', 'contains no OCDS release or record');
  } catch (error) {
    if (!(error instanceof UnreadableInputError)) throw error;
    report.refuse({ file, place: error.place, field: '', id: null, reason: error.message });
  }
}

/** @throws ValueError */
function convertProcess(process: ContractingProcess, owners: Map<string, string>, workspace: Workspace): void {
  const { lastDate: rank } = process;
  const leadEntity = getLeadEntity(process);
  const solicitation = toSolicitation(process, leadEntity);
  const contracts = toContracts(process, leadEntity);
  const records: [kind: Kind, record: ConvertedRecord][] = [];
  const addNamed = (kind: Kind, prefix: string, organization: Organization): void =>
    void records.push([kind, { id: organizationId(prefix, organization), name: organization.name }]);
  if (solicitation !== null) records.push(['solicitations', solicitation]);
  if (solicitation !== null || contracts.length > 0) addNamed('lead-entities', 'le_', leadEntity);
  for (const { record, suppliers, coop, services } of contracts) {
    if (coop !== null) addNamed('coops', 'co_', coop);
    for (const { id, name } of services) records.push(['city-services', { id, name }]);
    for (const supplier of suppliers) records.push(['suppliers', toSupplier(supplier)]);
    records.push(['contracts', record]);
  }
  for (const [kind, record] of records) {
    const [problem] = workspace.check(kind, record);
    if (problem !== undefined) throw new ValueError([problem.field, problem.reason].filter(Boolean).join(': '), kind);
  }
  claimIds(process, contracts, owners);
  for (const [kind, record] of records) {
    workspace.putRecord(kind, record.id, kind === 'city-services' ? '' : rank, record);
  }
}

/**
 * Notes which process uses each contract's id: those of publishers can collide.
 *
 * @throws ValueError if another record has one of them.
 */
function claimIds(
  { ocid, release }: ContractingProcess,
  contracts: readonly ConvertedContract[],
  owners: Map<string, string>,
): void {
  const field = objectsAt(release, 'contracts').length > 0 ? 'contracts.id' : 'awards.id';
  const ids = contracts.map(({ record }) => record.id);
  if (new Set(ids).size < ids.length) {
    throw new ValueError('is missing or repeated; each contract of a process needs its own', field);
  }
  for (const id of ids) {
    const other = owners.get(id);
    if (other === undefined) continue;
    throw new ValueError(`gives the id ${id}, which ${other} already has; leave out one of them`, field);
  }
  for (const id of ids) owners.set(id, ocid);
}

/** The e-mail address of a contact point is left out: it often names a person. */
function toSupplier(supplier: Organization): ConvertedRecord {
  const { name, party } = supplier;
  return {
    id: organizationId('sup_', supplier),
    name,
    short_intro: null,
    about: null,
    states_served: [],
    certifications: [],
    city_service_ids: [],
    location: locationOf(objectAt(party, 'address')),
    logo: null,
    email: null,
    website: firstText(textAt(party, 'contactPoint', 'url'), textAt(party, 'details', 'url')),
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

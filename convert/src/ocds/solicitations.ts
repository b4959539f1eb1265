import { numberFor, idFor } from '../ids.ts';
import { firstText, objectAt, objectsAt, textAt, type JsonObject } from '../json.ts';
import type { ConversionReport } from '../report.ts';
import { ValueError } from '../value-error.ts';
import { findOrganization, organizationId, withRole, type Organization } from './organizations.ts';
import { parseTime, timeAt, type ContractingProcess } from './process.ts';
import { classificationsOf } from './services.ts';
import { solicitationStatus } from './status.ts';

const MAX_TITLE = 200;
const MAX_QUESTION_TITLE = 80;

/**
 * The organization that a process belongs to: it decides which partners see the record.
 *
 * @throws ValueError if none is named.
 */
export function getLeadEntity(process: ContractingProcess): Organization {
  const { release } = process;
  for (const reference of [objectAt(release, 'tender', 'procuringEntity'), objectAt(release, 'buyer')]) {
    const found = Object.keys(reference).length === 0 ? null : findOrganization(process, reference);
    if (found !== null) return found;
  }
  for (const role of ['procuringEntity', 'buyer', 'centralPurchasingBody']) {
    const [only, ...others] = withRole(process, role);
    if (only !== undefined && others.length === 0) return only;
  }
  throw new ValueError('is missing, and no single party is the procuring entity or buyer', 'tender.procuringEntity');
}

/** The first title that a process has; null if it has no text at all. */
export function findTitle({ release }: ContractingProcess): string | null {
  const { tender } = release;
  return firstText(
    textAt(tender, 'title'),
    ...objectsAt(tender, 'lots').map((lot) => textAt(lot, 'title')),
    shortened(textAt(tender, 'description'), MAX_TITLE),
    ...objectsAt(release, 'awards').map((award) => textAt(award, 'title')),
  );
}

/** The first characters of a text. `slice` would cut characters of two UTF-16 units in half, which an import refuses. */
function shortened(text: string | null, maxLength: number): string | null {
  return text === null ? null : Array.from(text).slice(0, maxLength).join('');
}

/**
 * The solicitation of a process; null if it has no tender.
 *
 * @returns the record, or a removal if the publisher has withdrawn the process.
 * @throws ValueError
 */
export function toSolicitation(
  process: ContractingProcess,
  leadEntity: Organization,
): ({ id: string } & JsonObject) | null {
  const { ocid, release, report } = process;
  const tender = objectAt(release, 'tender');
  if (Object.keys(tender).length === 0) return null;
  const id = idFor('sol_', ocid);
  const status = solicitationStatus(process);
  if (status === null) return { id, deleted: true };
  const title = findTitle(process);
  if (title === null) throw new ValueError('is missing, as are titles of lots and awards', 'tender.title');
  const timeOf = (...path: string[]): string | null => timeAt(process, release, 'tender', ...path);
  const openAt = timeOf('tenderPeriod', 'startDate') ?? timeOf('datePublished');
  const closeAt = timeOf('tenderPeriod', 'endDate');
  if (openAt !== null && closeAt !== null && closeAt < openAt)
    report.dropped('tenders that close before they open (kept)');
  const intentAt = timeOf('expressionOfInterestDeadline');
  return {
    id,
    ref: numberFor(ocid),
    reference_number: textAt(tender, 'id') ?? ocid,
    title,
    status,
    issuing_organization: issuingOrganization(process, leadEntity),
    lead_entity_id: organizationId('le_', leadEntity),
    open_at: openAt,
    close_at: closeAt,
    questions_due_at: timeOf('enquiryPeriod', 'endDate'),
    intent_to_bid_due_at: intentAt,
    require_intent_registration: intentAt !== null,
    description: textAt(tender, 'description'),
    created_at: process.firstDate,
    updated_at: process.lastDate,
    nigp_codes: nigpCodes(release),
    documents: numbered(objectsAt(tender, 'documents'), report).map(([number, document]) =>
      toDocument(number, document),
    ),
    requested_items: [],
    notices: notices(process),
    questions: questions(process),
  };
}

/** The buyer's name, if it differs from the lead entity's and is the only one. */
function issuingOrganization(process: ContractingProcess, leadEntity: Organization): string | null {
  const buyer = objectAt(process.release, 'buyer');
  if (Object.keys(buyer).length === 0 || withRole(process, 'buyer').length > 1) return null;
  const name = findOrganization(process, buyer)?.name ?? null;
  return name === leadEntity.name ? null : name;
}

/** NIGP codes have 3, 5, 7 or 11 digits; spreadsheets drop a leading zero. */
const NIGP_LENGTHS = [3, 5, 7, 11];

function nigpCodes(release: JsonObject): { code: string; description: string }[] {
  const tender = objectAt(release, 'tender');
  const holders = [tender, ...objectsAt(release, 'awards'), ...objectsAt(release, 'contracts')];
  const codes = new Map<string, string>();
  const add = (classification: JsonObject, fallback: string | null): void => {
    if (!/nigp/i.test(textAt(classification, 'scheme') ?? '')) return;
    const digits = (textAt(classification, 'id') ?? '').replaceAll(/\D/g, '');
    const code = [digits, `0${digits}`].find(({ length }) => NIGP_LENGTHS.includes(length));
    const description = firstText(textAt(classification, 'description'), fallback);
    if (code !== undefined && !codes.has(code)) codes.set(code, description ?? '');
  };
  for (const item of holders.flatMap((holder) => objectsAt(holder, 'items'))) {
    for (const classification of classificationsOf(item)) add(classification, textAt(item, 'description'));
  }
  add(objectAt(tender, 'classification'), null);
  return Array.from(codes, ([code, description]) => ({ code, description }));
}

function toDocument(id: number, document: JsonObject): JsonObject {
  const [title, description, type] = ['title', 'description', 'documentType'].map((key) => textAt(document, key));
  const path = urlPath(textAt(document, 'url'));
  const words = type?.replaceAll(/([a-z])([A-Z])/g, '$1 $2') ?? null;
  const extension = /\.([A-Za-z0-9]{1,5})$/.exec(path ?? '')?.[1] ?? null;
  return {
    id,
    name: firstText(title, description, words, path) ?? 'Document',
    description: title === null ? null : (description ?? null),
    file_type: textAt(document, 'format') ?? extension,
    file_size: null,
  };
}

function urlPath(url: string | null): string | null {
  if (url === null || !URL.canParse(url)) return null;
  const last = new URL(url).pathname.split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(last).trim() || null;
  } catch {
    return last;
  }
}

function notices(process: ContractingProcess): JsonObject[] {
  const { release, releaseDates, lastDate, report } = process;
  const single = objectAt(release, 'tender', 'amendment');
  const amendments = [
    ...objectsAt(release, 'tender', 'amendments'),
    ...(Object.keys(single).length > 0 ? [single] : []),
  ];
  const dated = numbered(amendments, report).map(([id, amendment]) => {
    const changed = objectsAt(amendment, 'changes').map((change) => textAt(change, 'property'));
    const properties = changed.filter((property) => property !== null).join(', ');
    const body =
      firstText(textAt(amendment, 'description'), textAt(amendment, 'rationale')) ??
      (properties === '' ? null : `Changed: ${properties}`);
    const date = textAt(amendment, 'date') ?? releaseDates.get(textAt(amendment, 'releaseID') ?? '') ?? lastDate;
    return { id, body, created_at: parseTime(process, date, 'tender.amendments.date') };
  });
  report.dropped('amendments without a text', dated.filter(({ body }) => body === null).length);
  return dated
    .filter(({ body }) => body !== null)
    .sort((a, b) => {
      if (a.created_at === b.created_at) return a.id - b.id;
      return a.created_at < b.created_at ? -1 : 1;
    })
    .map(({ id, body, created_at }, index) => ({ id, title: `Amendment ${index + 1}`, body, created_at }));
}

/** Questions without their author, whom the interface promises not to identify. */
function questions(process: ContractingProcess): JsonObject[] {
  const { release, lastDate, report } = process;
  return numbered(objectsAt(release, 'tender', 'enquiries'), report).flatMap(([id, enquiry]) => {
    const [title, description] = [textAt(enquiry, 'title'), textAt(enquiry, 'description')];
    const questionTitle = title ?? shortened(description ?? null, MAX_QUESTION_TITLE);
    if (questionTitle === null) {
      report.dropped('questions without a text');
      return [];
    }
    return {
      id,
      title: questionTitle,
      body: description ?? questionTitle,
      answer: textAt(enquiry, 'answer'),
      answered_at: timeAt(process, enquiry, 'dateAnswered'),
      created_at: timeAt(process, enquiry, 'date') ?? lastDate,
    };
  });
}

/**
 * Entries with the numbers that the format wants as ids: the publisher's own if all are distinct numbers, else hashes.
 * Of two entries with one id, the later is kept.
 */
function numbered(entries: readonly JsonObject[], report: ConversionReport): [number, JsonObject][] {
  const ids = entries.map((entry) => textAt(entry, 'id'));
  const areNumbers = ids.every((id) => id !== null && /^\d{1,16}$/.test(id) && Number.isSafeInteger(Number(id)));
  const isDistinct = new Set(ids.map(Number)).size === ids.length;
  const found = new Map<number, JsonObject>();
  entries.forEach((entry, index) => {
    const id = ids[index] ?? null;
    const number = areNumbers && isDistinct ? Number(id) : numberFor(id ?? JSON.stringify(entry));
    if (found.has(number)) report.dropped('entries with the id of a later one');
    found.set(number, entry);
  });
  return [...found];
}

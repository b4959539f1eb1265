// Detail view of a solicitation.

import { calendarFile } from '../parts/calendar.js';
import { button, description, element, table } from '../dom.js';
import { formatBytes, formatDistance, time, yesOrNo } from '../format.js';
import { listLink } from '../parts/links.js';
import { status } from '../parts/status.js';

/** @typedef {import('../view.js').View} View */
/** @typedef {import('../../../../client/src/generated/types.gen.ts').SolicitationDetail} SolicitationDetail */

/**
 * @param {string} id or ref
 * @param {View} view
 * @returns {Promise<Node[]>}
 */
export async function showSolicitation(id, view) {
  /** @type {SolicitationDetail} */
  const record = await view.ask(`/v1/solicitations/${encodeURIComponent(id)}`);
  return [
    element('h2', { tabindex: '-1' }, record.title),
    ...summary(record, view.now()),
    element('p', { class: 'text' }, record.description ?? ''),
    facts(record),
    ...section('NIGP codes', record.nigp_codes, (codes) =>
      table(
        'NIGP codes',
        ['Code', 'Description'],
        codes.map((nigp) => [nigp.code, nigp.description]),
      ),
    ),
    ...section('Documents', record.documents, (documents) =>
      table(
        'Documents: the files are not served',
        ['Name', 'Description', 'Type', 'Size'],
        documents.map((file) => [file.name, file.description, file.file_type, formatBytes(file.file_size)]),
      ),
    ),
    ...section('Requested items', record.requested_items, (items) => requestedItems(items, record.documents)),
    ...section('Notices', record.notices, (notices) => notices.map(notice)),
    ...section('Questions', record.questions, (questions) => questions.map(question)),
  ];
}

/** Whether bids are accepted, and until when. @param {SolicitationDetail} record @param {number} nowMs */
function summary(record, nowMs) {
  const { close_at: closeAt } = record;
  const closesInMs = Date.parse(closeAt ?? '') - nowMs;
  return [
    element(
      'div',
      { class: 'summary' },
      status(record.status),
      closeAt === null
        ? element('p', { class: 'deadline' }, 'No deadline')
        : element(
            'p',
            { class: 'deadline' },
            'Deadline ',
            element('strong', {}, time(closeAt)),
            `, ${formatDistance(closesInMs)}`,
          ),
      closeAt !== null && calendarButton({ ...record, close_at: closeAt }, nowMs),
    ),
    element(
      'p',
      {},
      record.is_open ? 'Accepts bids now.' : 'Accepts no bids now.',
      record.require_intent_registration && ' Bidders register their intent first.',
    ),
  ];
}

/** @param {SolicitationDetail & { close_at: string }} record @param {number} nowMs */
function calendarButton(record, nowMs) {
  return button('Add to calendar', () => {
    const url = URL.createObjectURL(new Blob([calendarFile(record, nowMs, location.href)], { type: 'text/calendar' }));
    element('a', { href: url, download: `${record.ref}.ics` }).click();
    URL.revokeObjectURL(url);
  });
}

/** @param {SolicitationDetail} record */
function facts(record) {
  return description([
    ['ID', element('code', {}, record.id)],
    ['Ref', element('code', {}, record.ref)],
    ['Reference number', record.reference_number],
    ['Issuing organization', record.issuing_organization],
    ['Lead entity', listLink('solicitations', 'lead_entity', record.lead_entity)],
    ['Opens', time(record.open_at)],
    ['Questions due', time(record.questions_due_at)],
    ['Intent to bid due', time(record.intent_to_bid_due_at)],
    ['Created', time(record.created_at)],
    ['Updated', time(record.updated_at)],
  ]);
}

/**
 * @template Item
 * @param {string} title
 * @param {readonly Item[]} items
 * @param {(items: readonly Item[]) => Node | Node[]} show
 */
function section(title, items, show) {
  const contents = items.length === 0 ? element('p', { class: 'muted' }, 'None.') : show(items);
  return [element('h3', {}, title), ...[contents].flat()];
}

/** @param {readonly SolicitationDetail['requested_items'][number][]} items @param {SolicitationDetail['documents']} documents */
function requestedItems(items, documents) {
  const nameOf = (/** @type {number | null} */ id) => documents.find((document) => document.id === id)?.name ?? null;
  return table(
    'What bidders are to supply',
    ['Name', 'Required', 'Type', 'Several files', 'Instructions', 'Template'],
    items.map((item) => [
      item.name,
      yesOrNo(item.required),
      item.file_type,
      yesOrNo(item.allows_multiple),
      item.instructions,
      nameOf(item.template_document_id),
    ]),
  );
}

/** @param {SolicitationDetail['notices'][number]} it */
function notice({ title, body, created_at }) {
  return element(
    'article',
    { class: 'entry' },
    element('h4', {}, title),
    element('p', { class: 'muted' }, time(created_at)),
    element('p', { class: 'text' }, body),
  );
}

/** @param {SolicitationDetail['questions'][number]} it */
function question({ title, body, answer, created_at, answered_at }) {
  return element(
    'article',
    { class: 'entry' },
    element('h4', {}, title),
    element('p', { class: 'muted' }, 'Asked ', time(created_at)),
    element('p', { class: 'text' }, body),
    answer === null
      ? element('p', { class: 'muted' }, 'Not answered yet.')
      : element('p', { class: 'text answer' }, answer),
    answered_at !== null && element('p', { class: 'muted' }, 'Answered ', time(answered_at)),
  );
}

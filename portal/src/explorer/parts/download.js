// A list as a CSV file: all of it, with the filters of the view.

import { button, element } from '../dom.js';
import { FormulaGuard } from '../formulas.js';
import { problemBox } from './problem-box.js';

/** @typedef {import('../views/lists.js').List} List */
/** @typedef {import('../view.js').View} View */

/** Without it, Excel takes UTF-8 for another encoding. */
const BYTE_ORDER_MARK = '\uFEFF';

/**
 * @param {List} list
 * @param {URLSearchParams} parameters
 * @param {View} view
 */
export function downloadSection(list, parameters, view) {
  const isForSpreadsheet = element('input', { type: 'checkbox', id: 'for-spreadsheet' });
  const start = button('Download as CSV', () => void download());
  const outcome = element('div', { role: 'status' });

  let isReading = false;

  async function download() {
    // Ignore a second press while reading: a disabled button would lose the focus.
    if (isReading) return;
    isReading = true;
    outcome.replaceChildren('Reading the list…');
    try {
      save(await readFile(list, parameters, view, isForSpreadsheet.checked), `${list.view}.csv`);
      outcome.replaceChildren('Saved.');
    } catch (error) {
      if (!view.signal.aborted) outcome.replaceChildren(problemBox(error));
    }
    isReading = false;
  }

  return element(
    'section',
    { 'aria-label': 'Download' },
    element(
      'p',
      { class: 'actions' },
      start,
      element('span', { class: 'muted' }, 'All pages. Counts as one request for each 2,000 records.'),
    ),
    element(
      'p',
      {},
      isForSpreadsheet,
      ' ',
      element(
        'label',
        { for: isForSpreadsheet.id },
        'For a spreadsheet: put an apostrophe before each cell that it would run as a formula',
      ),
    ),
    outcome,
  );
}

/** @param {List} list @param {URLSearchParams} parameters @param {View} view @param {boolean} isForSpreadsheet */
async function readFile(list, parameters, view, isForSpreadsheet) {
  const query = new URLSearchParams(parameters);
  for (const name of ['cursor', 'limit']) query.delete(name);
  query.set('format', 'csv');
  const guard = new FormulaGuard();
  /** @type {BlobPart[]} */
  const parts = isForSpreadsheet ? [BYTE_ORDER_MARK] : [];
  // The file is saved once all of it has arrived: a list that is cut is an error.
  for await (const piece of view.readCsv(list.path, query)) {
    parts.push(...(isForSpreadsheet ? guard.alter(piece) : [piece]));
  }
  return new Blob(parts, { type: 'text/csv' });
}

/** @param {Blob} file @param {string} name */
function save(file, name) {
  const url = URL.createObjectURL(file);
  element('a', { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}

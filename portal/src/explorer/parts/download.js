// A list as a CSV file: all of it, with the filters of the view.

import { button, element } from '../dom.js';
import { FormulaGuard } from '../formulas.js';
import { problemBox } from './problem-box.js';

/** @typedef {import('../views/lists.js').List} List */
/** @typedef {import('../view.js').View} View */

/** Without it, Excel takes UTF-8 for another encoding. */
const BYTE_ORDER_MARK = '\uFEFF';

/** Longer names do not fit in every file system. */
const MAX_NAME_LENGTH = 150;

/**
 * @param {List} list
 * @param {URLSearchParams} parameters
 * @param {View} view
 */
export function downloadSection(list, parameters, view) {
  const query = new URLSearchParams(parameters);
  for (const name of ['cursor', 'limit']) query.delete(name);
  const name = fileName(list.view, query);
  query.set('format', 'csv');
  const outcome = element('div', { role: 'status' });

  let isReading = false;

  /** @param {boolean} isForSpreadsheet */
  async function download(isForSpreadsheet) {
    // Ignore a second press while reading: a disabled button would lose the focus.
    if (isReading) return;
    isReading = true;
    outcome.replaceChildren('Reading the list…');
    try {
      const file = await readFile(view.readCsv(list.path, query), isForSpreadsheet);
      save(file, isForSpreadsheet ? `${name}.csv` : `${name}.raw.csv`);
      outcome.replaceChildren('Saved.');
    } catch (error) {
      if (!view.signal.aborted) outcome.replaceChildren(problemBox(error));
    }
    isReading = false;
  }

  return element(
    'section',
    { class: 'download', 'aria-label': 'Download' },
    element('span', { class: 'muted' }, 'All pages; one request for each 2,000 records.'),
    button('CSV for a spreadsheet', () => void download(true), {
      title: 'Cells that a spreadsheet would run as formulas begin with an apostrophe.',
    }),
    button('Raw CSV', () => void download(false), { class: 'as-link', title: 'As the service sends it.' }),
    outcome,
  );
}

/** @param {AsyncIterable<Uint8Array<ArrayBuffer>>} csv @param {boolean} isForSpreadsheet */
async function readFile(csv, isForSpreadsheet) {
  const guard = new FormulaGuard();
  /** @type {BlobPart[]} */
  const parts = isForSpreadsheet ? [BYTE_ORDER_MARK] : [];
  // The file is saved once all of it has arrived: a list that is cut is an error.
  for await (const piece of csv) parts.push(...(isForSpreadsheet ? guard.alter(piece) : [piece]));
  return new Blob(parts, { type: 'text/csv' });
}

/**
 * The name of a file without its extension: `suppliers_state=PA_q=fire-truck`.
 *
 * @param {string} view
 * @param {URLSearchParams} filters
 */
function fileName(view, filters) {
  const parts = [view, ...[...filters].map(([name, value]) => `${name}=${value}`)];
  return parts
    .join('_')
    .replaceAll(/[^\p{L}\p{N}=_.,-]+/gu, '-')
    .slice(0, MAX_NAME_LENGTH);
}

/** @param {Blob} file @param {string} name */
function save(file, name) {
  const url = URL.createObjectURL(file);
  element('a', { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}

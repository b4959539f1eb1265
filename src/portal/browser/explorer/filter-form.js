// The parameters of a list as a form. Values are sent without validation: the service gives the best error message.

import { listAddress } from './address.js';
import { element } from './dom.js';

/** @typedef {import('./lists.js').Filter} Filter */
/** @typedef {import('./view.js').View} View */

const PAGE_SIZES = ['10', '25', '50', '100'];
const DEFAULT_PAGE_SIZE = '25';

/**
 * @param {import('./lists.js').List} list
 * @param {URLSearchParams} parameters initial values of the fields
 * @param {View} view
 */
export function filterForm(list, parameters, view) {
  const pageSizes = [...PAGE_SIZES];
  const limit = parameters.get('limit') ?? DEFAULT_PAGE_SIZE;
  if (!pageSizes.includes(limit)) pageSizes.push(limit);
  const fields = list.filters.map((filter) => field(filter, parameters.get(filter.name) ?? '', view));
  const form = element(
    'form',
    { class: 'filters', 'aria-label': `Filters of ${list.title.toLowerCase()}`, autocomplete: 'off' },
    ...fields,
    labelled('limit', 'Page size', select('limit', pageSizes, limit)),
    element(
      'p',
      { class: 'actions' },
      element('button', { type: 'submit', class: 'primary' }, 'Show'),
      element('a', { href: listAddress(list.view) }, 'Clear'),
    ),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    view.open(listAddress(list.view, filled(form)));
  });
  // On a phone, open filters would push the results off the screen, so they start folded unless one is set.
  const isOpen = matchMedia('(min-width: 50rem)').matches || filled(form).size > 0;
  return element('details', { class: 'filters-box', open: isOpen }, element('summary', {}, 'Filters'), form);
}

/** The values that are neither empty nor the API's default. @param {HTMLFormElement} form */
function filled(form) {
  const parameters = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    const text = `${value}`.trim();
    if (text !== '' && !(name === 'limit' && text === DEFAULT_PAGE_SIZE)) parameters.set(name, text);
  }
  return parameters;
}

/** @param {Filter} filter @param {string} value @param {View} view */
function field({ name, label, values, list, hint }, value, view) {
  if (values !== undefined) {
    const known = values.includes(value) || value === '' ? values : [...values, value];
    return labelled(name, label, select(name, ['', ...known], value));
  }
  const input = element('input', {
    id: `filter-${name}`,
    name,
    type: 'text',
    spellcheck: 'false',
    autocapitalize: 'off',
    placeholder: hint ?? false,
  });
  input.value = value;
  if (list === undefined) return labelled(name, label, input);
  const offered = element('datalist', { id: `offered-${name}` });
  input.setAttribute('list', offered.id);
  // Loaded on first focus only: each page of names counts against the partner's limit.
  input.addEventListener('focus', () => void offer(list, offered, view), { once: true });
  return labelled(name, label, input, offered);
}

/** @param {string} list @param {HTMLDataListElement} offered @param {View} view */
async function offer(list, offered, view) {
  try {
    const { names } = await view.readNames(list, { isBehindView: false });
    offered.replaceChildren(...names.map(({ id, name }) => element('option', { value: id }, name)));
  } catch {
    // Suggestions are optional: the field still accepts an id, and the view's own requests report errors.
  }
}

/** @param {string} name @param {string} label @param {...HTMLElement} controls the label is for the first */
function labelled(name, label, ...controls) {
  return element(
    'div',
    { class: 'field' },
    element('label', { for: `filter-${name}` }, label, ' ', element('code', {}, name)),
    ...controls,
  );
}

/** @param {string} name @param {readonly string[]} values @param {string} value */
function select(name, values, value) {
  const options = values.map((it) => element('option', { value: it }, it === '' ? 'any' : it));
  const made = element('select', { id: `filter-${name}`, name }, ...options);
  made.value = value;
  return made;
}

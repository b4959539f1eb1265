// The parameters of a list as a form. Values are sent without validation, since the service gives the best error
// message; names are looked up first.

import { listAddress } from '../address.js';
import { element } from '../dom.js';
import { NameField } from './name-field.js';
import { problemBox } from './problem-box.js';

/** @typedef {import('../views/lists.js').Filter} Filter */
/** @typedef {import('../view.js').View} View */

const PAGE_SIZES = ['10', '25', '50', '100'];
const DEFAULT_PAGE_SIZE = '25';

/**
 * @param {import('../views/lists.js').List} list
 * @param {URLSearchParams} parameters initial values of the fields
 * @param {View} view
 */
export function filterForm(list, parameters, view) {
  const pageSizes = [...PAGE_SIZES];
  const limit = parameters.get('limit') ?? DEFAULT_PAGE_SIZE;
  if (!pageSizes.includes(limit)) pageSizes.push(limit);
  /** @type {NameField[]} */
  const nameFields = [];
  const fields = list.filters.map((filter) => field(filter, parameters.get(filter.name) ?? '', view, nameFields));
  const choices = element('div', { class: 'choices', role: 'alert' });
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
    choices,
  );

  async function submit() {
    form.setAttribute('aria-busy', 'true');
    try {
      const open = await Promise.all(nameFields.map((nameField) => nameField.resolve(() => form.requestSubmit())));
      choices.replaceChildren(...open.filter((choice) => choice !== null));
      if (open.every((choice) => choice === null)) view.open(listAddress(list.view, filled(form)));
    } catch (error) {
      if (!view.signal.aborted) choices.replaceChildren(problemBox(error));
    }
    form.removeAttribute('aria-busy');
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    // Ignore a second press while names are looked up.
    if (!form.hasAttribute('aria-busy')) void submit();
  });
  // On a phone, open filters would push the results off the screen, so they start folded.
  const isOpen = matchMedia('(min-width: 50rem)').matches;
  const set = filled(form).size;
  const summary = element('summary', {}, set === 0 ? 'Filters' : `Filters (${set} set)`);
  return element('details', { class: 'filters-box', open: isOpen }, summary, form);
}

/** The values that are neither empty nor the API's default. @param {HTMLFormElement} form */
function filled(form) {
  const parameters = new URLSearchParams();
  for (const name of new Set(new FormData(form).keys())) {
    const text = new FormData(form).getAll(name).join().trim();
    if (text !== '' && !(name === 'limit' && text === DEFAULT_PAGE_SIZE)) parameters.set(name, text);
  }
  return parameters;
}

/** @param {Filter} filter @param {string} value @param {View} view @param {NameField[]} nameFields */
function field({ name, label, values, isSeveral, kind, hint, isDate }, value, view, nameFields) {
  if (values !== undefined) {
    const chosen = isSeveral ? value.split(',') : [value];
    // The service says what is wrong with a value that it does not know.
    const known = [...new Set([...values, ...chosen])].filter((each) => each !== '');
    if (isSeveral) return checkboxes(name, label, known, chosen);
    return labelled(name, label, select(name, ['', ...known], value));
  }
  if (isDate) return dateField(name, label, value);
  if (kind !== undefined && view.canRead(kind)) {
    const nameField = new NameField(view, { name, label, kind }, value);
    nameFields.push(nameField);
    return labelled(name, label, ...nameField.nodes);
  }
  const input = element('input', {
    id: `filter-${name}`,
    name,
    type: 'text',
    spellcheck: 'false',
    autocapitalize: 'off',
    placeholder: hint ?? (kind === undefined ? false : 'its ID'),
  });
  input.value = value;
  return labelled(name, label, input);
}

/** A date and time in UTC. @param {string} name @param {string} label @param {string} value a timestamp */
function dateField(name, label, value) {
  const input = element('input', { id: `filter-${name}`, type: 'datetime-local', step: '1' });
  const ms = Date.parse(value);
  if (!Number.isNaN(ms)) input.value = new Date(ms).toISOString().slice(0, 19);
  // A value that is not changed keeps its milliseconds.
  const chosen = hidden(name, value);
  input.addEventListener('input', () => (chosen.value = input.value === '' ? '' : `${withSeconds(input.value)}Z`));
  return labelled(name, `${label} (UTC)`, input, chosen);
}

/** Browsers leave out seconds of 0. @param {string} value */
function withSeconds(value) {
  return value.length === 'YYYY-MM-DDTHH:MM'.length ? `${value}:00` : value;
}

/** @param {string} name @param {string} value */
function hidden(name, value) {
  return element('input', { type: 'hidden', name, value });
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

/** @param {string} name @param {string} label @param {readonly string[]} values @param {readonly string[]} chosen */
function checkboxes(name, label, values, chosen) {
  const boxes = values.map((value) =>
    element(
      'label',
      {},
      element('input', { type: 'checkbox', name, value, checked: chosen.includes(value) }),
      ` ${value}`,
    ),
  );
  return element(
    'fieldset',
    { id: `filter-${name}`, class: 'field' },
    element('legend', {}, label, ' ', element('code', {}, name)),
    ...boxes,
  );
}

/** @param {string} name @param {readonly string[]} values @param {string} value */
function select(name, values, value) {
  const options = values.map((option) => element('option', { value: option }, option === '' ? 'any' : option));
  const made = element('select', { id: `filter-${name}`, name }, ...options);
  made.value = value;
  return made;
}

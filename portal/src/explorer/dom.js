// The only module that creates elements. Text from a record always becomes a text node and is never parsed as markup,
// so no record can inject elements or scripts into the page.

const SVG = 'http://www.w3.org/2000/svg';

/**
 * The content of an element; null and false are left out.
 * @typedef {Node | string | number | null | false} Child
 */

/**
 * Creates an HTML element.
 *
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Readonly<Record<string, string | boolean>>} attributes true sets an attribute without a value, false
 *   omits it; the page's Content-Security-Policy blocks `style`
 * @param {...(Child | readonly Child[])} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  setAttributes(made, attributes);
  made.append(...present(children.flat()));
  return made;
}

/**
 * Creates an SVG element.
 *
 * @param {string} name
 * @param {Readonly<Record<string, string>>} attributes
 * @param {...Node} children
 */
export function drawing(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  setAttributes(made, attributes);
  made.append(...children);
  return made;
}

/**
 * A button that does not submit a form.
 *
 * @param {string} label
 * @param {() => void} onClick
 * @param {Readonly<Record<string, string | boolean>>} attributes
 */
export function button(label, onClick, attributes = {}) {
  const made = element('button', { type: 'button', ...attributes }, label);
  made.addEventListener('click', onClick);
  return made;
}

/**
 * A description list. An empty value is shown as "none".
 *
 * @param {readonly (readonly [term: string, value: Child | readonly Child[]])[]} entries
 */
export function description(entries) {
  return element(
    'dl',
    { class: 'facts' },
    ...entries.map(([term, value]) =>
      element('div', {}, element('dt', {}, term), element('dd', {}, ...orNone([value].flat()))),
    ),
  );
}

/**
 * A table that scrolls sideways, by touch and by keyboard, if it is wider than the page. On a phone its rows are cards, so
 * its elements have the roles that they lose there.
 *
 * @param {string} caption its accessible name, visually hidden
 * @param {readonly string[]} titles
 * @param {readonly (readonly (Child | readonly Child[])[])[]} rows the first cell of each names its row
 * @param {readonly string[]} brief titles of the columns that cards show
 */
export function table(caption, titles, rows, brief = titles) {
  const head = element('tr', { role: 'row' }, ...titles.map((title) => element('th', { scope: 'col' }, title)));
  const body = rows.map(([first, ...others]) =>
    element(
      'tr',
      { role: 'row' },
      element('th', { scope: 'row', role: 'rowheader' }, ...orNone([first ?? null].flat())),
      ...others.map((cell, index) => {
        const title = titles[index + 1] ?? '';
        const attributes = { role: 'cell', 'data-label': title, class: brief.includes(title) ? 'brief' : 'extra' };
        return element('td', attributes, ...orNone([cell].flat()));
      }),
    ),
  );
  return element(
    'div',
    { class: 'table-scroll', role: 'region', 'aria-label': caption, tabindex: '0' },
    element(
      'table',
      { role: 'table' },
      element('caption', { class: 'visually-hidden' }, caption),
      element('thead', { role: 'rowgroup' }, head),
      element('tbody', { role: 'rowgroup' }, ...body),
    ),
  );
}

/** @param {readonly Child[]} children @returns {Child[]} */
function orNone(children) {
  const filled = present(children).filter((child) => child !== '');
  return filled.length > 0 ? filled : [element('span', { class: 'none' }, 'none')];
}

/** @param {readonly Child[]} children @returns {(Node | string)[]} */
function present(children) {
  return children
    .filter((child) => child !== null && child !== false)
    .map((child) => (child instanceof Node ? child : `${child}`));
}

/** @param {Element} made @param {Readonly<Record<string, string | boolean>>} attributes */
function setAttributes(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) made.setAttribute(name, value === true ? '' : value);
  }
}

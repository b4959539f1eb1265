// The only place where elements are made. A text from a record always becomes a text node: there is no way from here
// to markup, so that nothing that stands in a record can become a part of the page.

const SVG = 'http://www.w3.org/2000/svg';

/**
 * What can stand in an element; null and false stand for nothing.
 * @typedef {Node | string | number | null | false} Child
 */

/**
 * An element with its attributes and children.
 *
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Readonly<Record<string, string | boolean>>} attributes true stands for an attribute without a value, false
 *   for none; values of `style` would be refused by the page's Content-Security-Policy
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
 * An element of a drawing.
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
 * A button that is no part of a form.
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
 * Terms with what they are: an empty value is said to be one.
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
 * A table that can be scrolled sideways by touch and by keyboard where it is wider than the page.
 *
 * @param {string} caption names it to those who do not see it
 * @param {readonly string[]} titles
 * @param {readonly (readonly (Child | readonly Child[])[])[]} rows the first cell of each names its row
 */
export function table(caption, titles, rows) {
  const head = element('tr', {}, ...titles.map((title) => element('th', { scope: 'col' }, title)));
  const body = rows.map(([first, ...others]) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, ...orNone([first ?? null].flat())),
      ...others.map((cell) => element('td', {}, ...orNone([cell].flat()))),
    ),
  );
  return element(
    'div',
    { class: 'table-scroll', role: 'region', 'aria-label': caption, tabindex: '0' },
    element(
      'table',
      {},
      element('caption', { class: 'visually-hidden' }, caption),
      element('thead', {}, head),
      element('tbody', {}, ...body),
    ),
  );
}

/** @param {readonly Child[]} children @returns {Child[]} */
function orNone(children) {
  const shown = present(children).filter((child) => child !== '');
  return shown.length > 0 ? shown : [element('span', { class: 'none' }, 'none')];
}

/** @param {readonly Child[]} children @returns {(Node | string)[]} */
function present(children) {
  return children.filter((child) => child !== null && child !== false).map((it) => (it instanceof Node ? it : `${it}`));
}

/** @param {Element} made @param {Readonly<Record<string, string | boolean>>} attributes */
function setAttributes(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) made.setAttribute(name, value === true ? '' : value);
  }
}

// Records as a short list: a link to each, and the few fields that a phone's table shows, too.

import { element } from '../dom.js';

/** @typedef {import('../dom.js').Child} Child */
/** @typedef {import('../views/lists.js').List} List */

/** @param {List} list @param {readonly object[]} records */
export function recordRows({ titles, brief = titles, cells }, records) {
  return rows(
    records.map((record) => {
      const [name = null, ...others] = cells(record);
      const notes = others.flatMap((cell, index) => {
        const title = titles[index + 1] ?? '';
        if (cell === null || cell === '' || !brief.includes(title)) return [];
        // A time alone does not say of what.
        return cell instanceof HTMLTimeElement ? [[`${title.toLowerCase()} `, cell]] : [cell];
      });
      return { name, notes };
    }),
  );
}

/**
 * @param {readonly { lead?: Child, name: Child | readonly Child[], notes: readonly (Child | readonly Child[])[] }[]} items `lead`
 *   is before the name
 */
export function rows(items) {
  return element(
    'ul',
    { class: 'rows' },
    ...items.map(({ lead = null, name, notes }) =>
      element(
        'li',
        {},
        lead !== null && element('p', { class: 'lead' }, lead),
        element(
          'div',
          {},
          ...[name].flat(),
          element(
            'p',
            { class: 'muted' },
            ...notes.flatMap((note, index) => [index === 0 ? null : ' · ', note]).flat(),
          ),
        ),
      ),
    ),
  );
}

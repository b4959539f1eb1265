// Solicitations by lead entity, the largest first. Each count is a request, so they are loaded on demand.

import { listAddress } from '../address.js';
import { barChart } from '../parts/bar-chart.js';
import { button, element } from '../dom.js';
import { formatNumber } from '../format.js';
import { problemBox } from '../parts/problem-box.js';

/** @typedef {import('../view.js').View} View */

const COUNTED_AT_ONCE = 50;

/** Bars in the chart. */
const SHOWN = 10;

/** A section that loads on its own: if it fails, the rest of the view stays usable. */
export class LeadEntityCounts {
  #view;
  /** @type {{ id: string, name: string, count: number }[]} */
  #counted = [];
  /** All lead entities; null before they are read. @type {readonly { id: string, name: string }[] | null} */
  #all = null;
  #isCounting = false;

  /** @param {View} view */
  constructor(view) {
    this.#view = view;
    const start = button('Count by lead entity', () => void this.countMore());
    const cost = element('span', { class: 'muted' }, `One request for each, ${COUNTED_AT_ONCE} at a time.`);
    this.node = element(
      'section',
      { 'aria-label': 'Solicitations by lead entity' },
      element('p', { class: 'actions' }, start, cost),
    );
  }

  /** Counts the next `COUNTED_AT_ONCE` in the API's order, which is by id. Never throws. */
  async countMore() {
    // Ignore a second press while counting.
    if (this.#isCounting) return;
    this.#isCounting = true;
    this.node.setAttribute('aria-busy', 'true');
    const hadFocus = this.node.contains(document.activeElement);
    try {
      await this.#count();
      if (this.#view.signal.aborted) return;
      this.node.replaceChildren(...this.#chart(), this.#moreButton());
    } catch (error) {
      if (this.#view.signal.aborted) return;
      this.node.replaceChildren(
        ...this.#chart(),
        problemBox(error, () => void this.countMore()),
      );
    }
    this.#isCounting = false;
    this.node.removeAttribute('aria-busy');
    // The pressed button was replaced: focus the new one, so that keyboard users keep their position.
    if (hadFocus) this.node.querySelector('button')?.focus();
  }

  async #count() {
    this.#all ??= await this.#view.readAll('/v1/lead-entities', {});
    const next = this.#all.slice(this.#counted.length, this.#counted.length + COUNTED_AT_ONCE);
    const totals = await this.#view.askEach(next, ({ id }) => this.#view.count({ lead_entity: id }));
    this.#counted.push(...next.map((named, index) => ({ ...named, count: totals[index] ?? 0 })));
  }

  get #left() {
    return (this.#all?.length ?? 0) - this.#counted.length;
  }

  #chart() {
    const counted = this.#counted.length;
    if (counted === 0) return [];
    const sorted = this.#counted.toSorted((one, other) => other.count - one.count).slice(0, SHOWN);
    const extent = `the largest ${sorted.length} of ${formatNumber(counted)}${this.#left > 0 ? ' counted' : ''}`;
    const bars = sorted.map(({ id, name, count }) => ({
      name,
      address: listAddress('solicitations', { lead_entity: id }),
      count,
    }));
    return [barChart(`Solicitations by lead entity: ${extent}`, 'Lead entity', bars)];
  }

  #moreButton() {
    if (this.#counted.length === 0) return element('p', { class: 'muted' }, 'You see no lead entity.');
    const step = Math.min(COUNTED_AT_ONCE, this.#left);
    if (step === 0) return '';
    return element(
      'p',
      { class: 'actions' },
      button(`Count the next ${step}`, () => void this.countMore()),
      element('span', { class: 'muted' }, `${step} requests; ${formatNumber(this.#left)} are left to count.`),
    );
  }
}

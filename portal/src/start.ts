/** A heading of the second level, as Starlight renders it. */
const HEADING = /(?=<div class="sl-heading-wrapper level-h2">)/;

/**
 * Makes the sections of the overview, up to the list of guides, into cards: steps, and beside them what needs no code.
 *
 * @throws Error if the overview has other sections.
 */
export function asCards(page: string): string {
  const [introduction = '', ...sections] = page.split(HEADING);
  const steps = sections.filter((section) => / id="\d-/.test(section));
  const [beside, guides, ...others] = sections.slice(steps.length);
  if (steps.length === 0 || beside === undefined || guides === undefined || others.length > 0)
    throw new Error('the overview has no steps, or not two sections after them');
  const cards = steps.map((step) => `<section class="card">${step}</section>`);
  return `${introduction}<div class="start"><div class="steps">${cards.join('')}</div><section class="card">${beside}</section></div>${guides}`;
}

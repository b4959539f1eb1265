/** The two-letter codes of USPS Publication 28, appendix B: states, territories, freely associated states, military. */
export const STATES: ReadonlySet<string> = new Set(
  (
    'AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR ' +
    'PA RI SC SD TN TX UT VT VA WA WV WI WY AS GU MP PR VI FM MH PW AA AE AP'
  ).split(' '),
);

/** The state in a location of the form `City, ST`; null for other text. */
export function stateOfLocation(location: string | null): string | null {
  const state = /\S, ([A-Z]{2})$/.exec(location ?? '')?.[1];
  return state !== undefined && STATES.has(state) ? state : null;
}

import { timestamp, type Certification, type Supplier } from './records.ts';
import { bytewise } from './served.ts';

/** Parameters as they appear in a query string, without `cursor` and `limit`. All are assumed to be well-formed. */
export type Filters = Readonly<Record<string, string>>;

/** Applies a filter; a filter that was not requested matches everything. */
export function holds<T>(requested: string | undefined, test: (requested: string) => T): T | true {
  return requested === undefined ? true : test(requested);
}

/** Applies a filter that takes several values, of which any matches. */
export function holdsAny(requested: string | undefined, test: (value: string) => boolean): boolean {
  return requested === undefined || requested.split(',').some((value) => test(value));
}

/** The timestamp in a parameter; a `+` can arrive as a space. */
export function bound(text: string): string {
  return timestamp(text.replace(' ', '+')) ?? '';
}

export function isInState(supplier: Supplier, requested: string): boolean {
  const state = requested.toUpperCase();
  return supplier.states_served.includes(state) || basedIn(supplier) === state;
}

function basedIn(supplier: Supplier): string | null {
  const state = /^.*\S, ([A-Z]{2})$/s.exec(supplier.location ?? '')?.[1];
  return state !== undefined && STATES.has(state) ? state : null;
}

/**
 * Resolves a comma-separated list of certifications. Names can contain commas: the longest matching name wins.
 *
 * @returns null if an element matches none, and so no supplier matches the list.
 */
export function requestedCertifications(list: string, known: Iterable<Certification>): Certification[] | null {
  const certifications = [...known].sort((one, other) => bytewise(one.abbreviation, other.abbreviation));
  const found: Certification[] = [];
  let pieces = list.split(',');
  while (pieces.length > 0) {
    const lengths = pieces.map((_, index) => pieces.length - index);
    const matches = lengths.map((length) => certificationNamed(pieces.slice(0, length).join(','), certifications));
    const longest = matches.findIndex((match) => match !== undefined);
    const match = matches[longest];
    if (match === undefined) return null;
    found.push(match);
    pieces = pieces.slice(lengths[longest]);
  }
  return found;
}

/** Exact spelling takes precedence over a match that ignores case. */
function certificationNamed(text: string, certifications: Certification[]): Certification | undefined {
  const requested = text.trim();
  const folded = requested.toLowerCase();
  return (
    certifications.find(({ abbreviation }) => abbreviation === requested) ??
    certifications.find(({ name }) => name === requested) ??
    certifications.find(({ abbreviation }) => abbreviation.toLowerCase() === folded) ??
    certifications.find(({ name }) => name.toLowerCase() === folded)
  );
}

// USPS Publication 28, appendix B: states, the district, territories, associated states and military addresses.
const STATES = new Set(
  (
    'AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR ' +
    'PA RI SC SD TN TX UT VT VA WA WV WI WY DC AS GU MP PR VI FM MH PW AA AE AP'
  ).split(' '),
);

import { withoutClosingBrace } from '../finished-text.ts';

/** The list endpoint shows this many certifications of each type, and more of one where the other has fewer. */
const PREVIEW_OF_EACH_TYPE = 5;

interface EmbeddedSupplier {
  id: string;
  name: string;
  states_served: readonly string[];
  location: string | null;
  logo: string | null;
  email: string | null;
  website: string | null;
}

/** The form embedded in contracts, without its closing brace: the supplier endpoints add to it. */
export function renderSupplier(supplier: EmbeddedSupplier): string {
  const { id, name, states_served, location, logo, email, website } = supplier;
  return withoutClosingBrace(JSON.stringify({ id, name, states_served, location, logo, email, website }));
}

interface HeldCertification {
  abbreviation: string;
  type: 'sbe' | 'technical';
}

/**
 * The certifications of a supplier as JSON arrays: `all` for the detail, `preview` for lists.
 * Abbreviations, `sbe` before `technical`, alphabetical within.
 */
export function renderCertifications(held: readonly HeldCertification[]): { all: string; preview: string } {
  const [sbe, technical] = (['sbe', 'technical'] as const).map((type) =>
    held
      .filter((certification) => certification.type === type)
      .map(({ abbreviation }) => abbreviation)
      .sort(bytewise),
  ) as [string[], string[]];
  const size = 2 * PREVIEW_OF_EACH_TYPE;
  const shownSbe = Math.min(sbe.length, Math.max(PREVIEW_OF_EACH_TYPE, size - technical.length));
  return {
    all: JSON.stringify([...sbe, ...technical]),
    preview: JSON.stringify([...sbe.slice(0, shownSbe), ...technical.slice(0, size - shownSbe)]),
  };
}

/** The order of UTF-8 bytes, which is that of the databases too; JavaScript compares UTF-16 units. */
function bytewise(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

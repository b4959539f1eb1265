import { STATES } from '../../src/us-states.ts';
import { momentOf, FIRST_YEAR, LAST_YEAR, pastDaysAfter } from './timestamps.ts';
import type { Random } from './random.ts';
import type { CertificationRecord, NamedRecord } from './reference-lists.ts';
import type { TextWriter } from './text.ts';
import { ZipfRanks } from './zipf.ts';

const COMPANY_FORMS = ['Inc.', 'LLC', 'Corporation', 'Company', 'Group', '& Sons', 'Partners LP'];

/** The id of the supplier at this index. Index order is not id order. */
export function supplierId(index: number): string {
  return `sup_${(Math.imul(index + 1, 0x9e3779b1) >>> 0).toString(36).padStart(7, '0')}`;
}

/** Generates suppliers with profiles from one line to a page. */
export function* makeSuppliers(
  count: number,
  {
    certifications,
    cityServices,
  }: { certifications: readonly CertificationRecord[]; cityServices: readonly NamedRecord[] },
  random: Random,
  text: TextWriter,
): Generator<object> {
  const states = [...STATES];
  const stateRanks = new ZipfRanks(states.length, 0.7);
  const drawState = (): string => states[stateRanks.draw(random)] ?? 'TX';
  for (let index = 0; index < count; index++) {
    const name = `${text.title(1, 3)} ${random.pick(COMPANY_FORMS)}`;
    const host = `supplier-${index + 1}.example`;
    yield {
      id: supplierId(index),
      name,
      short_intro: text.sentences(random.integer(5, 20)),
      about: text.sentences(random.chance(0.05) ? random.integer(150, 500) : random.integer(15, 80)),
      states_served: random.distinct(random.chance(0.1) ? random.integer(10, 40) : random.integer(1, 5), drawState),
      certifications: random
        .distinct(random.chance(0.5) ? 0 : random.integer(1, 12), () => random.pick(certifications))
        .map(({ abbreviation }) => abbreviation),
      city_service_ids: random.distinct(random.integer(0, 5), () => random.pick(cityServices)).map(({ id }) => id),
      location: random.chance(0.9) ? `${text.title(1, 2)}, ${drawState()}` : null,
      logo: random.chance(0.3) ? `https://${host}/logo.png` : null,
      email: random.chance(0.6) ? `sales@${host}` : null,
      website: random.chance(0.7) ? `https://${host}/` : null,
      updated_at: pastDaysAfter(momentOf(random.integer(FIRST_YEAR, LAST_YEAR), random.fraction()), 0),
    };
  }
}

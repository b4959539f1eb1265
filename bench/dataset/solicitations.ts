import { daysAfter, FIRST_YEAR, LAST_YEAR, momentOf, pastDaysAfter } from './timestamps.ts';
import type { LeadEntity } from './lead-entities.ts';
import type { Random } from './random.ts';
import { RARE_WORDS, recordsOfRareWord } from './search-words.ts';
import { extrasMaker } from './solicitation-extras.ts';
import type { TextWriter } from './text.ts';

const REFERENCE_KINDS = ['RFP', 'RFP', 'ITB', 'IFB', 'RFQ', 'RFI'];
const YEARS = LAST_YEAR - FIRST_YEAR + 1;
/** Coprime to every number of records in use, so that every `ref` is unique. */
const REF_STEP = 7_368_787;

/** Generates solicitations in id order: by lead entity, year and number. */
export function* makeSolicitations(
  leadEntities: readonly LeadEntity[],
  random: Random,
  text: TextWriter,
): Generator<object> {
  const total = leadEntities.reduce((sum, leadEntity) => sum + leadEntity.solicitations, 0);
  const rareWords = placeRareWords(total, random);
  const makeExtras = extrasMaker(random, text);
  let ordinal = 0;
  for (const leadEntity of leadEntities) {
    for (let index = 0; index < leadEntity.solicitations; index++) {
      const yearIndex = Math.floor((index * YEARS) / leadEntity.solicitations);
      const firstOfYear = Math.ceil((yearIndex * leadEntity.solicitations) / YEARS);
      const year = FIRST_YEAR + yearIndex;
      const number = String(index - firstOfYear + 1).padStart(6, '0');
      const moment = momentOf(year, random.fraction());
      const description = describe(random, text, rareWords.get(ordinal));
      yield {
        id: `${leadEntity.code}-${year}-${number}`,
        ref: 1_000 + ((ordinal * REF_STEP) % total),
        reference_number: `${random.pick(REFERENCE_KINDS)}-${year}-${number}`,
        title: text.title(3, 10),
        status: statusOf(year, random),
        issuing_organization: random.chance(0.8) ? leadEntity.name : null,
        lead_entity_id: leadEntity.id,
        ...deadlines(moment, random),
        description,
        require_intent_registration: random.chance(0.2),
        created_at: new Date(moment).toISOString(),
        updated_at: pastDaysAfter(moment, random.fraction() * 60),
        ...makeExtras(moment),
      };
      ordinal++;
    }
  }
}

/** Maps record indexes to rare words, spreading each word evenly over all records. */
function placeRareWords(total: number, random: Random): Map<number, string[]> {
  const wordsByOrdinal = new Map<number, string[]>();
  RARE_WORDS.forEach((word, index) => {
    const count = Math.min(recordsOfRareWord(index), total);
    for (let turn = 0; turn < count; turn++) {
      const ordinal = Math.floor(((turn + random.fraction()) * total) / count);
      wordsByOrdinal.set(ordinal, [...(wordsByOrdinal.get(ordinal) ?? []), word]);
    }
  });
  return wordsByOrdinal;
}

/** Most descriptions have 200 to 600 characters; some have several thousand, a few are null. */
function describe(random: Random, text: TextWriter, rareWords: readonly string[] | undefined): string | null {
  const kind = random.fraction();
  const suffix = rareWords === undefined ? '' : ` Including ${rareWords.join(', ')}.`;
  if (kind < 0.03) return suffix === '' ? null : suffix.trim();
  if (kind < 0.1) return text.sentences(random.integer(4, 15)) + suffix;
  if (kind < 0.97) return text.sentences(random.integer(28, 80)) + suffix;
  return text.sentences(random.integer(300, 800)) + suffix;
}

/** Nothing closes solicitations automatically, so some old ones are still open. */
function statusOf(year: number, random: Random): string {
  const draw = random.fraction();
  if (year === LAST_YEAR && draw < 0.6) return draw < 0.55 ? 'open' : 'draft';
  if (draw < 0.03) return 'open';
  if (draw < 0.035) return 'draft';
  if (draw < 0.12) return 'cancelled';
  return draw < 0.5 ? 'closed' : 'awarded';
}

function deadlines(moment: number, random: Random): object {
  const days = random.integer(10, 120);
  const optional = (share: number, fraction: number): string | null =>
    random.chance(share) ? daysAfter(moment, days * fraction) : null;
  return {
    open_at: optional(0.9, 0),
    close_at: optional(0.94, 1),
    questions_due_at: optional(0.4, 0.5),
    intent_to_bid_due_at: optional(0.15, 0.7),
  };
}

import { daysAfter } from './timestamps.ts';
import type { Random } from './random.ts';
import type { TextWriter } from './text.ts';

const FILE_TYPES = ['pdf', 'docx', 'xlsx', 'zip'];

/** Returns a function that makes documents, requested items, notices, questions and codes for some records. */
export function extrasMaker(random: Random, text: TextWriter): (moment: number) => object {
  let lastId = 0;
  const some = <T>(share: number, max: number, make: () => T): T[] =>
    random.chance(share) ? Array.from({ length: random.integer(1, max) }, make) : [];
  const nigpCode = (): object => {
    const digits = random.pick([3, 5, 5, 7, 11]);
    const code = String(random.integer(1, 10 ** digits - 1)).padStart(digits, '0');
    return { code, description: text.title(2, 5) };
  };
  const document = () => {
    const type = random.pick(FILE_TYPES);
    return {
      id: ++lastId,
      name: `${text.title(1, 4)}.${type}`,
      description: random.chance(0.3) ? text.title(3, 8) : null,
      file_type: type,
      file_size: random.integer(2_000, 20_000_000),
    };
  };
  const requestedItem = (templateId: number | undefined): object => ({
    id: ++lastId,
    name: text.title(1, 4),
    required: random.chance(0.7),
    file_type: random.chance(0.5) ? random.pick(FILE_TYPES) : null,
    allows_multiple: random.chance(0.2),
    instructions: random.chance(0.4) ? text.sentences(12) : null,
    template_document_id: templateId ?? null,
  });
  const notice = (moment: number): object => ({
    id: ++lastId,
    title: text.title(2, 6),
    body: text.sentences(random.integer(10, 40)),
    created_at: daysAfter(moment, random.integer(1, 10)),
  });
  const question = (moment: number): object => {
    const isAnswered = random.chance(0.8);
    return {
      id: ++lastId,
      title: text.title(2, 6),
      body: text.sentences(random.integer(10, 30)),
      answer: isAnswered ? text.sentences(random.integer(5, 30)) : null,
      answered_at: isAnswered ? daysAfter(moment, 9) : null,
      created_at: daysAfter(moment, 3),
    };
  };
  return (moment) => {
    const documents = some(0.2, 4, document);
    return {
      nigp_codes: some(0.35, 2, nigpCode),
      documents,
      requested_items: some(0.08, 3, () => requestedItem(random.chance(0.3) ? documents[0]?.id : undefined)),
      notices: some(0.08, 2, () => notice(moment)),
      questions: some(0.04, 4, () => question(moment)),
    };
  };
}

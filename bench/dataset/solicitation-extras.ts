import { daysAfter } from './instants.ts';
import type { Random } from './random.ts';
import type { TextWriter } from './text.ts';

const FILE_TYPES = ['pdf', 'docx', 'xlsx', 'zip'];

/** Generates documents, requested items, notices, questions and commodity codes for some records, with unique ids. */
export class SolicitationExtras {
  readonly #random: Random;
  readonly #text: TextWriter;
  #lastId = 0;

  constructor(random: Random, text: TextWriter) {
    this.#random = random;
    this.#text = text;
  }

  make(moment: number): object {
    const random = this.#random;
    const documents = this.#some(0.2, 4, () => this.#document());
    return {
      nigp_codes: this.#some(0.35, 2, () => this.#nigpCode()),
      documents,
      requested_items: this.#some(0.08, 3, () =>
        this.#requestedItem(random.chance(0.3) ? documents[0]?.id : undefined),
      ),
      notices: this.#some(0.08, 2, () => this.#notice(moment)),
      questions: this.#some(0.04, 4, () => this.#question(moment)),
    };
  }

  #some<T>(share: number, most: number, make: () => T): T[] {
    if (!this.#random.chance(share)) return [];
    return Array.from({ length: this.#random.integer(1, most) }, make);
  }

  #nextId(): number {
    return ++this.#lastId;
  }

  #nigpCode(): object {
    const digits = this.#random.pick([3, 5, 5, 7, 11]);
    const code = String(this.#random.integer(1, 10 ** digits - 1)).padStart(digits, '0');
    return { code, description: this.#text.title(2, 5) };
  }

  #document() {
    const type = this.#random.pick(FILE_TYPES);
    return {
      id: this.#nextId(),
      name: `${this.#text.title(1, 4)}.${type}`,
      description: this.#random.chance(0.3) ? this.#text.title(3, 8) : null,
      file_type: type,
      file_size: this.#random.integer(2_000, 20_000_000),
    };
  }

  #requestedItem(templateId: number | undefined): object {
    return {
      id: this.#nextId(),
      name: this.#text.title(1, 4),
      required: this.#random.chance(0.7),
      file_type: this.#random.chance(0.5) ? this.#random.pick(FILE_TYPES) : null,
      allows_multiple: this.#random.chance(0.2),
      instructions: this.#random.chance(0.4) ? this.#text.sentences(12) : null,
      template_document_id: templateId ?? null,
    };
  }

  #notice(moment: number): object {
    return {
      id: this.#nextId(),
      title: this.#text.title(2, 6),
      body: this.#text.sentences(this.#random.integer(10, 40)),
      created_at: daysAfter(moment, this.#random.integer(1, 10)),
    };
  }

  #question(moment: number): object {
    const isAnswered = this.#random.chance(0.8);
    return {
      id: this.#nextId(),
      title: this.#text.title(2, 6),
      body: this.#text.sentences(this.#random.integer(10, 30)),
      answer: isAnswered ? this.#text.sentences(this.#random.integer(5, 30)) : null,
      answered_at: isAnswered ? daysAfter(moment, 9) : null,
      created_at: daysAfter(moment, 3),
    };
  }
}

/** An input that cannot be mapped, described so that its author can find it. */
interface Refusal {
  file: string;
  /** The place in the file, such as `line 3` or `releases[12]`; empty for the whole file. */
  place: string;
  /** The path of the field, such as `tender.status`; empty if it concerns the whole entry. */
  field: string;
  /** The id of the entry concerned, if it has one. */
  id: string | null;
  reason: string;
}

/** Counts what was read, written, left out and refused. */
export class ConversionReport {
  readonly refusals: Refusal[] = [];
  readonly notes: string[] = [];
  readonly #read = new Map<string, number>();
  readonly #dropped = new Map<string, number>();

  /** Counts entries of the input. */
  read(what: string): void {
    add(this.#read, what, 1);
  }

  /** Counts things that the import format has no place for, or that were changed on the way. */
  dropped(what: string, count = 1): void {
    if (count > 0) add(this.#dropped, what, count);
  }

  refuse(refusal: Refusal): void {
    this.refusals.push(refusal);
  }

  note(sentence: string): void {
    this.notes.push(sentence);
  }

  /** The report as JSON; `written` counts the records of each kind. */
  json(written: Readonly<Record<string, number>>): object {
    const { refusals, notes } = this;
    return { read: sorted(this.#read), written, dropped: sorted(this.#dropped), refused: refusals, notes };
  }
}

/** `uk.json: releases[3] (ocds-1): tender.status: "Primirea" is not a status of OCDS`. */
export function describeRefusal({ file, place, field, id, reason }: Refusal): string {
  const where = [place, id === null ? '' : `(${id})`].filter((part) => part !== '').join(' ');
  return [file, where, field, reason].filter((part) => part !== '').join(': ');
}

function add(counts: Map<string, number>, what: string, count: number): void {
  counts.set(what, (counts.get(what) ?? 0) + count);
}

function sorted(counts: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

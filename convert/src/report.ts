import { KINDS, type Kind } from './import-format.ts';

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
  /** The part of the reason in which equal refusals can differ, such as the value. */
  value?: string | undefined;
  /** The kinds of the records that it leaves out; if absent, they can be of any. */
  kinds?: readonly Kind[];
}

/** Refusals that differ only in their place, id and value, which are those of the first. */
interface RefusalGroup extends Refusal {
  /** The number of refusals. */
  count: number;
  /** The first of their places. */
  places: string[];
  /** How often each of their values was refused. */
  values: Map<string, number>;
}

/** As an import does, a report lists this many different refusals, and only counts others. */
const MAX_LISTED = 100;

/** How many places and values are listed per refusal. */
const MAX_PLACES = 5;
const MAX_VALUES = 20;

/** Maximum characters of a listed text, which can repeat input of any length. */
const MAX_LENGTH = 300;

/** Records that several rows gave, and the number of these rows. */
interface Merged {
  records: number;
  rows: number;
}

/** Counts what was read, merged, written, left out and refused. */
export class ConversionReport {
  /** The number of refused entries, such as rows. Each can have several refusals, of which 100 different ones are listed. */
  refused = 0;
  #lastEntry = '';
  #refusalCount = 0;
  readonly #refusalsOf = new Map<Kind, number>();
  readonly notes: string[] = [];
  readonly #read = new Map<string, number>();
  readonly #dropped = new Map<string, number>();
  readonly #merged: Partial<Record<Kind, Merged>> = {};
  readonly #refusals = new Map<string, RefusalGroup>();

  /** Counts entries of the input. */
  read(what: string): void {
    add(this.#read, what, 1);
  }

  /** Counts things that the import format has no place for, or that were changed on the way. */
  dropped(what: string, count = 1): void {
    if (count > 0) add(this.#dropped, what, count);
  }

  /** Counts a record that several rows gave. */
  merged(kind: Kind, rows: number): void {
    const counts = (this.#merged[kind] ??= { records: 0, rows: 0 });
    counts.records += 1;
    counts.rows += rows;
  }

  refuse({ file, place, value, ...others }: Refusal): void {
    const entry = JSON.stringify([file, place]);
    if (entry !== this.#lastEntry) this.refused += 1;
    this.#lastEntry = entry;
    const { kinds } = others;
    this.#refusalCount += 1;
    for (const kind of kinds ?? KINDS) this.#refusalsOf.set(kind, (this.#refusalsOf.get(kind) ?? 0) + 1);
    const general = value === undefined ? others.reason : others.reason.replaceAll(value, '…');
    const [field, reason] = [shortened(others.field), shortened(others.reason)];
    const key = JSON.stringify([file, field, shortened(general), kinds]);
    let group = this.#refusals.get(key);
    if (group === undefined && this.#refusals.size < MAX_LISTED) {
      const id = others.id === null ? null : shortened(others.id);
      group = { ...others, file, place, field, id, reason, count: 0, places: [], values: new Map<string, number>() };
      this.#refusals.set(key, group);
    }
    if (group === undefined) return;
    group.count += 1;
    if (group.places.length < MAX_PLACES) group.places.push(place);
    if (value !== undefined) add(group.values, value, 1);
  }

  /** The refusals as text, one a line; only those that leave out records of a kind, if it is given. */
  describeRefusals(kind?: Kind): string[] {
    const groups = [...this.#refusals.values()].filter(
      ({ kinds }) => kind === undefined || kinds === undefined || kinds.includes(kind),
    );
    const count = kind === undefined ? this.#refusalCount : (this.#refusalsOf.get(kind) ?? 0);
    const others = count - groups.reduce((sum, { count }) => sum + count, 0);
    return [...groups.map(describeRefusal), ...(others === 0 ? [] : [`and ${others} others`])];
  }

  /** The merged records as text, such as `1 contract merged from 2 rows`. */
  describeMerged(): string[] {
    return Object.entries(this.#merged).map(([kind, { records, rows }]) => {
      const name = records === 1 ? kind.replace(/ies$/, 'y').replace(/s$/, '') : kind;
      return `${records} ${name} merged from ${rows} rows`;
    });
  }

  note(sentence: string): void {
    this.notes.push(sentence);
  }

  /** The report as JSON; `written` counts the records of each kind. */
  json(written: Readonly<Record<string, number>>): object {
    const counts = { read: sorted(this.#read), merged: this.#merged, written, dropped: sorted(this.#dropped) };
    const refused = Array.from(this.#refusals.values(), (one) => ({ ...one, values: sorted(one.values) }));
    return { ...counts, refused, refused_total: this.refused, notes: this.notes };
  }
}

/**
 * `uk.json: releases[3] (ocds-1): tender.status: "Primirea" is not a status of OCDS`, and if it is repeated `uk.json:
 * tender.status: "Primirea" is not a status of OCDS (12 times: releases[3], releases[4], …; "Primirea" 9 times, "Nowy" 3 times)`.
 */
function describeRefusal({ file, place, field, id, reason, count, places, values }: RefusalGroup): string {
  const where = count > 1 ? [] : [place, id === null ? '' : `(${id})`].filter((part) => part !== '');
  const described = [file, where.join(' '), field, reason].filter((part) => part !== '').join(': ');
  if (count === 1) return described;
  const listed = [...places.filter((one) => one !== ''), ...(count > places.length ? ['…'] : [])].join(', ');
  const frequent = [...values].filter(([text]) => text !== 'others').sort(([, a], [, b]) => b - a);
  const found = frequent.map(([text, times]) => `${text} ${times} times`);
  const shown = found.length > MAX_VALUES ? [...found.slice(0, MAX_VALUES), '…'] : found;
  return `${described} (${count} times: ${listed}${found.length > 1 ? `; ${shown.join(', ')}` : ''})`;
}

/** Without the middle of a long text: a reason begins with the value, and ends with what is accepted. */
function shortened(text: string): string {
  if (text.length <= MAX_LENGTH) return text;
  return `${text.slice(0, MAX_LENGTH / 2)}…${text.slice(-MAX_LENGTH / 2)}`.toWellFormed();
}

/** Counts under a name, which can repeat input; beyond 100 names, under one for all others. */
function add(counts: Map<string, number>, what: string, count: number): void {
  const name = counts.has(what) || counts.size < MAX_LISTED ? shortened(what) : 'others';
  counts.set(name, (counts.get(name) ?? 0) + count);
}

function sorted(counts: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

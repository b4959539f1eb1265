import { createHash } from 'node:crypto';

/** How stale a response can be: a server notices a release within one second; the rest is for a busy machine. */
export const STALE_MS = 3_000;

export const LEAD_ENTITIES = Array.from({ length: 6 }, (_, index) => `le_${index}`);
export const CONTRACTS = 800;
export const SOLICITATIONS = 2_500;

/** The word in every solicitation. */
export const COMMON_WORD = 'common';

interface Version {
  readonly version: number;
  /** When its import began and ended; infinite while it runs. */
  readonly beganAtMs: number;
  endedAtMs: number;
}

/** The checked fields of a served record. */
export interface ServedRecord {
  readonly id: string;
  readonly name?: string;
  readonly title?: string;
  readonly description?: string | null;
  readonly lead_entity: { readonly id: string };
}

/**
 * The published records and when they were published. Each record has its version and a checksum in two fields, so that
 * any response shows whether it is torn, mixed or stale.
 */
export class World {
  readonly #versions = new Map<string, Version[]>();
  #version = 0;

  /** The lines of an import that rewrites these records; call {@link published} when it has finished. */
  change(ids: readonly string[]): { contracts: object[]; solicitations: object[] } {
    this.#version += 1;
    const version = { version: this.#version, beganAtMs: performance.now(), endedAtMs: Number.POSITIVE_INFINITY };
    for (const id of ids) {
      const versions = this.#versions.get(id) ?? [];
      versions.push({ ...version });
      this.#versions.set(id, versions);
    }
    const lines = ids.map((id) => lineOf(id, this.#version));
    return {
      contracts: lines.filter(({ id }) => id.startsWith('ctr')),
      solicitations: lines.filter(({ id }) => id.startsWith('sol')),
    };
  }

  published(ids: readonly string[]): void {
    for (const id of ids) {
      const last = this.#versions.get(id)?.at(-1);
      if (last !== undefined) last.endedAtMs = performance.now();
    }
  }

  /** The current version of each record. */
  get current(): ReadonlyMap<string, number> {
    return new Map([...this.#versions].map(([id, versions]) => [id, versions.at(-1)?.version ?? 0]));
  }

  /** Whether the import of a record's version ended before this time. */
  endedBefore(id: string, version: number, momentMs: number): boolean {
    return (this.#versions.get(id) ?? []).some((period) => period.version === version && period.endedAtMs < momentMs);
  }

  /** Checks a record of a response, given when it was requested and received; null if it is correct. */
  problemOf(record: ServedRecord, askedAtMs: number, answeredAtMs: number): string | null {
    const said = readSaid(record.name ?? record.title);
    if (said?.id !== record.id) return `not whole: ${JSON.stringify(record).slice(0, 300)}`;
    const more = record.description === undefined ? said : readSaid(record.description);
    if (more?.version !== said.version || more.id !== said.id) return `torn: ${JSON.stringify(record).slice(0, 300)}`;
    if (record.lead_entity.id !== leadEntityOf(record.id)) return `${record.id} of another lead entity`;
    const versions = this.#versions.get(record.id) ?? [];
    const index = versions.findIndex(({ version }) => version === said.version);
    const beganAtMs = versions[index]?.beganAtMs ?? Number.POSITIVE_INFINITY;
    if (beganAtMs > answeredAtMs) return `${record.id} of a version that was not there`;
    const next = versions[index + 1];
    const replacedAtMs = next?.endedAtMs ?? Number.POSITIVE_INFINITY;
    if (replacedAtMs < askedAtMs - STALE_MS) {
      return `${record.id} ${Math.round(askedAtMs - replacedAtMs)} ms after version ${said.version} was replaced`;
    }
    return null;
  }

  /** Checks a page that one statement read: all its records must be from one state. Null if they are. */
  problemOfPage(records: readonly ServedRecord[]): string | null {
    const said = records.map((record) => ({
      id: record.id,
      version: readSaid(record.name ?? record.title)?.version ?? 0,
    }));
    const newest = Math.max(0, ...said.map(({ version }) => version));
    for (const { id, version } of said) {
      const then = (this.#versions.get(id) ?? []).filter((period) => period.version <= newest).at(-1)?.version;
      if (then !== version) return `a page of version ${newest} in which ${id} is of ${version}, and not of ${then}`;
    }
    return null;
  }
}

/** The version in a record's text. */
export function versionOf(record: ServedRecord): number {
  return readSaid(record.name ?? record.title)?.version ?? -1;
}

export function leadEntityOf(id: string): string {
  return LEAD_ENTITIES[Number(id.slice(4)) % LEAD_ENTITIES.length] ?? '';
}

export function allIds(): string[] {
  return [...idsOf('ctr', CONTRACTS), ...idsOf('sol', SOLICITATIONS)];
}

function idsOf(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}_${String(index).padStart(5, '0')}`);
}

function lineOf(id: string, version: number) {
  const said = say(id, version);
  const common = { id, lead_entity_id: leadEntityOf(id), description: `${said} ${'and so on '.repeat(version % 40)}` };
  return id.startsWith('ctr')
    ? { ...common, name: said, summary: said, supplier_ids: ['sup_1'] }
    : {
        ...common,
        ref: Number(id.slice(4)) + 1,
        reference_number: `RFP-${id.slice(4)}`,
        title: `${said} ${COMMON_WORD}`,
        status: Number(id.slice(4)) % 3 === 0 ? 'closed' : 'open',
        close_at: new Date(Date.UTC(2040, 0, 1) + Number(id.slice(4)) * 60_000).toISOString(),
        require_intent_registration: false,
        created_at: '2026-01-01T00:00:00Z',
      };
}

function say(id: string, version: number): string {
  return `${id} v${version} ${sumOf(id, version)}`;
}

function readSaid(text: string | null | undefined): { id: string; version: number } | null {
  const [, id = '', version = '', sum] = /^(\w+) v(\d+) (s[0-9a-f]+)/.exec(text ?? '') ?? [];
  return sum === sumOf(id, Number(version)) ? { id, version: Number(version) } : null;
}

function sumOf(id: string, version: number): string {
  // Begins with a letter, so that no search for a number matches it.
  return `s${createHash('sha256').update(`${id} ${version}`).digest('hex').slice(0, 16)}`;
}

import type { Scope } from '../../src/access/scope.ts';
import { isInState } from '../model/filters.ts';
import type { Supplier } from '../model/records.ts';
import { isFound, searchedText } from '../model/words.ts';
import type { contract, ImportLines, solicitation, supplier } from '../support/publishing.ts';
import type { IndexedKind } from '../../src/kinds.ts';

type SupplierLine = ReturnType<typeof supplier>;
type ContractLine = ReturnType<typeof contract>;
type SolicitationLine = ReturnType<typeof solicitation>;

/** Lines of each indexed kind, by id. */
export interface IndexedLines {
  suppliers: Map<string, SupplierLine>;
  contracts: Map<string, ContractLine>;
  solicitations: Map<string, SolicitationLine>;
}

/** Lines of the embedded kinds, by id. */
export interface EmbeddedLines {
  'lead-entities': Map<string, { id: string; name: string }>;
  coops: Map<string, { id: string; name: string }>;
  'city-services': Map<string, { id: string; name: string }>;
  certifications: Map<string, { abbreviation: string; name: string; type: string }>;
}

/** The filters of a list. Only filters that the kind has are used. */
export interface PlainFilters {
  readonly q?: string;
  readonly lead_entity?: string;
  readonly coop?: string;
  readonly supplier?: string;
  readonly city_service?: string;
  readonly state?: string;
  readonly certification?: string;
  readonly status?: string;
  readonly closing_after?: string;
  readonly closing_before?: string;
}

/**
 * Matches records that changed in this import or a later one, or became visible by a grant at this timestamp or later.
 */
export interface PlainSince {
  readonly release: number;
  readonly from: string;
}

/**
 * The catalog after some imports, and when each record last changed, computed from the lines alone: without SQL, terms
 * or positions.
 */
export class PlainCatalog {
  readonly lines: IndexedLines & EmbeddedLines;
  /** The import that last changed each record, by kind and id. */
  readonly #changedIn = new Map<string, { form: string; release: number }>();
  /** The import since which an owner's contracts reference a supplier, by both. */
  #pathsSince = new Map<string, number>();

  constructor(lines: IndexedLines & EmbeddedLines) {
    this.lines = lines;
  }

  /** Records the current lines as the state after the import with this number. */
  publish(release: number): void {
    for (const kind of ['suppliers', 'contracts', 'solicitations'] as const) {
      for (const id of this.lines[kind].keys()) {
        const form = JSON.stringify(this.#formOf(kind, id));
        if (this.#changedIn.get(`${kind} ${id}`)?.form !== form)
          this.#changedIn.set(`${kind} ${id}`, { form, release });
      }
    }
    for (const key of this.#changedIn.keys()) {
      const [kind = '', id = ''] = key.split(' ');
      if (!this.lines[kind as IndexedKind].has(id)) this.#changedIn.delete(key);
    }
    const paths = new Map<string, number>();
    for (const { lead_entity_id, coop_id, supplier_ids } of this.lines.contracts.values()) {
      for (const id of supplier_ids) {
        for (const owner of [`lead_entity ${lead_entity_id}`, ...(coop_id === null ? [] : [`coop ${coop_id}`])]) {
          paths.set(`${id} ${owner}`, this.#pathsSince.get(`${id} ${owner}`) ?? release);
        }
      }
    }
    this.#pathsSince = paths;
  }

  /** The ids of the records that a list shows, in order. */
  list(kind: IndexedKind, scope: Scope, filters: PlainFilters, since: PlainSince | null): string[] {
    return [...this.lines[kind].keys()]
      .filter((id) => this.#matches(kind, id, filters) && this.#isShown(kind, id, scope, since))
      .sort();
  }

  /** All lines of each kind, as a directory for `--replace`. */
  allLines(): ImportLines {
    const lines: Record<string, ReadonlyMap<string, object>> = { ...this.lines };
    return Object.fromEntries(Object.entries(lines).map(([kind, ofKind]) => [kind, [...ofKind.values()]]));
  }

  /** The parts of a record whose change counts as a change of the record. */
  #formOf(kind: IndexedKind, id: string): unknown {
    const { 'lead-entities': leadEntities, coops, 'city-services': services } = this.lines;
    if (kind === 'solicitations') {
      const line = this.lines.solicitations.get(id);
      const { documents: _documents, notices: _notices, questions: _questions, ...own } = line ?? {};
      return [own, leadEntities.get(line?.lead_entity_id ?? '')];
    }
    if (kind === 'suppliers') {
      const certifications = this.lines.suppliers.get(id)?.certifications ?? [];
      return [this.#embedded(id), ...['sbe', 'technical'].map((type) => this.#ofType(certifications, type)).flat()];
    }
    const line = this.lines.contracts.get(id);
    return [
      ...[line, leadEntities.get(line?.lead_entity_id ?? ''), coops.get(line?.coop_id ?? '')],
      ...(line?.city_service_ids ?? []).map((service) => services.get(service)),
      ...(line?.supplier_ids ?? []).map((named) => this.#embedded(named)),
    ];
  }

  #embedded(id: string): unknown {
    const line = this.lines.suppliers.get(id);
    if (line === undefined) return null;
    const { name, states_served, location, logo, email, website } = line;
    return { id, name, states_served: states_served.toSorted(), location, logo, email, website };
  }

  #ofType(abbreviations: readonly string[], type: string): string[] {
    return abbreviations.filter((abbreviation) => this.lines.certifications.get(abbreviation)?.type === type).sort();
  }

  #matches(kind: IndexedKind, id: string, filters: PlainFilters): boolean {
    const { q, city_service } = filters;
    const isAmong = (wanted: string | undefined, values: readonly (string | null)[]): boolean =>
      wanted === undefined || values.includes(wanted);
    const supplierLine = kind === 'suppliers' ? this.lines.suppliers.get(id) : undefined;
    if (supplierLine !== undefined) {
      const { name, short_intro, about, certifications, city_service_ids } = supplierLine;
      return (
        isAmong(filters.certification, certifications) &&
        isAmong(city_service, city_service_ids) &&
        (filters.state === undefined || isInState(supplierLine as unknown as Supplier, filters.state)) &&
        isFound(searchedText(name, short_intro, about), q)
      );
    }
    const contractLine = kind === 'contracts' ? this.lines.contracts.get(id) : undefined;
    if (contractLine !== undefined) {
      const { name, summary, description, lead_entity_id, coop_id, supplier_ids, city_service_ids } = contractLine;
      return (
        isAmong(filters.lead_entity, [lead_entity_id]) &&
        isAmong(filters.coop, [coop_id]) &&
        isAmong(filters.supplier, supplier_ids) &&
        isAmong(city_service, city_service_ids) &&
        isFound(searchedText(name, summary, description), q)
      );
    }
    const line = this.lines.solicitations.get(id);
    if (line === undefined || line.status === 'draft') return false;
    const closesAt = line.close_at === null ? null : new Date(line.close_at).toISOString();
    return (
      isAmong(filters.lead_entity, [line.lead_entity_id]) &&
      isAmong(filters.status, [line.status]) &&
      (filters.closing_after === undefined || (closesAt !== null && closesAt >= filters.closing_after)) &&
      (filters.closing_before === undefined || (closesAt !== null && closesAt <= filters.closing_before)) &&
      isFound(searchedText(line.title, line.reference_number, line.description), q)
    );
  }

  #isShown(kind: IndexedKind, id: string, scope: Scope, since: PlainSince | null): boolean {
    const seesAll = scope.everythingSince !== null;
    const granted = this.#ownersOf(kind, id).flatMap(({ owner, pathSince }) => {
      const [facet, key = ''] = owner.split(' ');
      const grantedAt = (facet === 'coop' ? scope.coops : scope.leadEntities).get(key);
      return grantedAt === undefined ? [] : [{ grantedAt, pathSince }];
    });
    if (!seesAll && granted.length === 0) return false;
    if (since === null || (seesAll && scope.everythingSince >= since.from)) return true;
    if ((this.#changedIn.get(`${kind} ${id}`)?.release ?? 0) >= since.release) return true;
    return !seesAll && granted.some((owner) => owner.grantedAt >= since.from || owner.pathSince >= since.release);
  }

  /** The lead entities and coops through which a record is visible, and the import since which they are. */
  #ownersOf(kind: IndexedKind, id: string): { owner: string; pathSince: number }[] {
    if (kind === 'suppliers') {
      return [...this.#pathsSince].flatMap(([path, pathSince]) =>
        path.startsWith(`${id} `) ? [{ owner: path.slice(id.length + 1), pathSince }] : [],
      );
    }
    const contractLine = this.lines.contracts.get(id);
    const leadEntity = (kind === 'contracts' ? contractLine : this.lines.solicitations.get(id))?.lead_entity_id ?? '';
    const coop = kind === 'contracts' ? (contractLine?.coop_id ?? null) : null;
    const owners = [`lead_entity ${leadEntity}`, ...(coop === null ? [] : [`coop ${coop}`])];
    return owners.map((owner) => ({ owner, pathSince: 0 }));
  }
}

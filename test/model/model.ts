import { requestedCertifications, bound, holds, holdsAny, isInState, type Filters } from './filters.ts';
import { readRecords, type PublishedDirectory, type Records } from './records.ts';
import {
  bytewise,
  isOpen,
  servedContract,
  servedSolicitation,
  servedSolicitationDetail,
  servedSupplier,
  type Served,
} from './served.ts';
import { visibleTo, type ModelScope, type Sighting, type Visible } from './visibility.ts';
import { isFound, searchedText, type SearchedText } from './words.ts';
import type { Kind } from '../../src/kinds.ts';

export type { Filters, ModelScope, PublishedDirectory, Served };

interface Named {
  id: string;
  name: string;
}

/** Which result of `updated_since`: the fewest records it must return, or the most it is allowed to. */
type SyncBound = 'min' | 'max';

/**
 * The expected responses, computed in the simplest way: by filtering all records in memory, without SQL, index or
 * cursor. It shares nothing with the service except the names of the kinds.
 */
export class Model {
  readonly records: Records;
  readonly #releases: readonly string[];
  readonly #texts = new WeakMap<object, SearchedText>();
  readonly #visible = new WeakMap<ModelScope, Visible>();

  /** @param releases the timestamps of all imports. */
  constructor(records: Records, releases: readonly string[]) {
    this.records = records;
    this.#releases = releases;
  }

  /** All matching records in order, as served. `now` decides `is_open`. */
  list(kind: Kind, filters: Filters, scope: ModelScope, now: string, sync: SyncBound = 'min'): Served[] {
    switch (kind) {
      case 'contracts':
        return this.#contracts(filters, scope, sync);
      case 'suppliers':
        return this.#suppliers(filters, scope, sync);
      case 'solicitations':
        return this.#solicitations(filters, scope, now, sync);
      case 'certifications':
        return this.#certifications(filters);
      case 'lead-entities':
        return this.#named(visibleOnes(this.records.leadEntities, this.visible(scope).leadEntities), filters);
      case 'coops':
        return this.#named(visibleOnes(this.records.coops, this.visible(scope).coops), filters);
      case 'city-services':
        return this.#named([...this.records.cityServices.values()], filters);
    }
  }

  /** The record in its detail form, or null if the scope shows no such record. Solicitations also by `ref`. */
  detail(kind: Kind, idOrRef: string, scope: ModelScope, now: string): Served | null {
    const visible = this.visible(scope);
    if (kind === 'contracts') {
      const contract = this.records.contracts.get(idOrRef);
      return contract !== undefined && visible.contracts.has(contract.id)
        ? servedContract(contract, this.records)
        : null;
    }
    if (kind === 'suppliers') {
      const supplier = this.records.suppliers.get(idOrRef);
      return supplier !== undefined && visible.suppliers.has(supplier.id)
        ? servedSupplier(supplier, this.records, 'detail')
        : null;
    }
    if (kind !== 'solicitations') return null;
    const solicitation = [...this.records.solicitations.values()].find(
      ({ id, ref }) => id === idOrRef || String(ref) === idOrRef,
    );
    return solicitation !== undefined && visible.solicitations.has(solicitation.id)
      ? servedSolicitationDetail(solicitation, this.records, now)
      : null;
  }

  /** The records that a scope shows, computed once for each scope. */
  visible(scope: ModelScope): Visible {
    let visible = this.#visible.get(scope);
    if (visible === undefined) this.#visible.set(scope, (visible = visibleTo(scope, this.records)));
    return visible;
  }

  #contracts(filters: Filters, scope: ModelScope, sync: SyncBound): Served[] {
    const since = this.#since(filters, scope);
    const { contracts } = this.visible(scope);
    const found = visibleOnes(this.records.contracts, contracts).filter(
      (contract) =>
        holdsAny(filters['lead_entity'], (id) => contract.lead_entity_id === id) &&
        holdsAny(filters['coop'], (id) => contract.coop_id === id) &&
        holdsAny(filters['supplier'], (id) => contract.supplier_ids.includes(id)) &&
        holdsAny(filters['city_service'], (id) => contract.city_service_ids.includes(id)) &&
        isSince(contracts.get(contract.id), since, sync) &&
        this.#isFound(contract, filters, contract.name, contract.summary, contract.description),
    );
    return ordered(found).map((contract) => servedContract(contract, this.records));
  }

  #suppliers(filters: Filters, scope: ModelScope, sync: SyncBound): Served[] {
    const since = this.#since(filters, scope);
    const { suppliers } = this.visible(scope);
    const requested = holds(filters['certifications'], (list) =>
      requestedCertifications(list, this.records.certifications.values()),
    );
    if (requested === null) return [];
    const found = visibleOnes(this.records.suppliers, suppliers).filter(
      (supplier) =>
        holdsAny(filters['state'], (state) => isInState(supplier, state)) &&
        holdsAny(filters['city_service'], (id) => supplier.city_service_ids.includes(id)) &&
        (requested === true || requested.every(({ abbreviation }) => supplier.certifications.includes(abbreviation))) &&
        isSince(suppliers.get(supplier.id), since, sync) &&
        this.#isFound(supplier, filters, supplier.name, supplier.short_intro, supplier.about),
    );
    return ordered(found).map((supplier) => servedSupplier(supplier, this.records, 'list'));
  }

  #solicitations(filters: Filters, scope: ModelScope, now: string, sync: SyncBound): Served[] {
    const since = this.#since(filters, scope);
    const { solicitations } = this.visible(scope);
    const found = visibleOnes(this.records.solicitations, solicitations).filter(
      (solicitation) =>
        holdsAny(filters['status'], (status) => solicitation.status === status) &&
        holdsAny(filters['lead_entity'], (id) => solicitation.lead_entity_id === id) &&
        holdsAny(filters['nigp'], (nigp) => solicitation.nigp_codes.some(({ code }) => code.startsWith(nigp))) &&
        holds(filters['is_open'], (wanted) => isOpen(solicitation, now) === (wanted === 'true')) &&
        holds(
          filters['closing_after'],
          (after) => solicitation.close_at !== null && solicitation.close_at >= bound(after),
        ) &&
        holds(
          filters['closing_before'],
          (before) => solicitation.close_at !== null && solicitation.close_at <= bound(before),
        ) &&
        isSince(solicitations.get(solicitation.id), since, sync) &&
        this.#isFound(
          solicitation,
          filters,
          solicitation.title,
          solicitation.reference_number,
          solicitation.description,
        ),
    );
    return ordered(found).map((solicitation) => servedSolicitation(solicitation, this.records, now));
  }

  /** The start of a sync: `updated_since` itself if it is a watermark, otherwise five seconds earlier. */
  #since({ updated_since: requested }: Filters, scope: ModelScope): string | null {
    if (requested === undefined) return null;
    const sinceMs = Date.parse(bound(requested));
    const granted = [scope.everythingSince, ...Object.values(scope.leadEntities), ...Object.values(scope.coops)];
    const events = [...this.#releases, ...granted.filter((at) => at !== null)];
    const isWatermark = events.some((event) => Date.parse(event) + 1 === sinceMs);
    return isWatermark || sinceMs <= 0 ? bound(requested) : new Date(sinceMs - 5_000).toISOString();
  }

  #certifications(filters: Filters): Served[] {
    return [...this.records.certifications.values()]
      .filter((certification) => this.#isFound(certification, filters, certification.name, certification.abbreviation))
      .filter((certification) => holds(filters['type'], (type) => certification.type === type))
      .sort((one, other) => bytewise(one.abbreviation, other.abbreviation))
      .map(({ name, type, abbreviation }) => ({ name, type, abbreviation }));
  }

  #named(records: Named[], filters: Filters): Served[] {
    const found = records.filter((record) => this.#isFound(record, filters, record.name));
    return ordered(found).map(({ id, name }) => ({ id, name }));
  }

  #isFound(record: object, filters: Filters, ...texts: (string | null)[]): boolean {
    if (filters['q'] === undefined) return true;
    let text = this.#texts.get(record);
    if (text === undefined) this.#texts.set(record, (text = searchedText(...texts)));
    return isFound(text, filters['q']);
  }
}

/** Loads directories in the order in which they were imported into an empty database. */
export function loadModel(directories: readonly PublishedDirectory[]): Model {
  return new Model(
    readRecords(directories),
    directories.map(({ publishedAt }) => publishedAt),
  );
}

function isSince(seen: Sighting | undefined, since: string | null, sync: SyncBound): boolean {
  const at = sync === 'min' ? seen?.first : seen?.last;
  return since === null || (at !== undefined && at >= since);
}

function visibleOnes<T>(records: ReadonlyMap<string, T>, visible: { has(id: string): boolean }): T[] {
  return [...records].filter(([id]) => visible.has(id)).map(([, record]) => record);
}

function ordered<T extends { id: string }>(records: T[]): T[] {
  // Ids are ASCII, so string order is byte order; comparing buffers would take half of the total time.
  return records.sort((one, other) => (one.id < other.id ? -1 : 1));
}

import type { Scope } from '../../src/access/scope.ts';
import { INDEXED_KINDS, type IndexedKind } from '../../src/kinds.ts';
import { Model, type Filters } from '../model/model.ts';
import { readRecords, type Contract, type Records, type Solicitation, type Supplier } from '../model/records.ts';
import { servedContract, servedSupplier } from '../model/served.ts';

/**
 * Matches records that changed in this import or a later one, or became visible by a grant at this timestamp or later.
 */
export interface PlainSince {
  readonly release: number;
  readonly from: string;
}

/** The parts of a record whose change counts as a change of the record. */
const FORMS = {
  suppliers: (one: Supplier, all: Records): unknown => servedSupplier(one, all, 'detail'),
  contracts: (one: Contract, all: Records): unknown => servedContract(one, all),
  solicitations: (one: Solicitation, all: Records): unknown => [
    { ...one, documents: [], notices: [], questions: [] },
    all.leadEntities.get(one.lead_entity_id),
  ],
};

interface Owned {
  readonly lead_entity_id: string;
  readonly coop_id?: string | null;
}

const ownersOf = ({ lead_entity_id, coop_id = null }: Owned): string[] => [
  `lead_entity ${lead_entity_id}`,
  ...(coop_id === null ? [] : [`coop ${coop_id}`]),
];

/**
 * The catalog after some imports, by the model, and when each record last changed, computed from its records alone:
 * without SQL, terms or positions.
 */
export class PlainCatalog {
  #model = new Model(readRecords([]), []);
  /** The import that last changed each record, by kind and id. */
  readonly #changedIn = new Map<string, { form: string; release: number }>();
  /** The import since which an owner's contracts reference a supplier, by both. */
  #pathsSince = new Map<string, number>();

  /** Takes these as the records after the import with this number. Their timestamps must be the same each time. */
  publish(records: Records, release: number): void {
    this.#model = new Model(records, []);
    for (const kind of INDEXED_KINDS) {
      for (const [id, record] of records[kind]) {
        const form = JSON.stringify(FORMS[kind](record as never, records));
        if (this.#changedIn.get(`${kind} ${id}`)?.form !== form)
          this.#changedIn.set(`${kind} ${id}`, { form, release });
      }
    }
    for (const key of this.#changedIn.keys()) {
      const [kind = '', id = ''] = key.split(' ');
      if (!records[kind as IndexedKind].has(id)) this.#changedIn.delete(key);
    }
    const paths = new Map<string, number>();
    for (const contract of records.contracts.values()) {
      for (const id of contract.supplier_ids) {
        for (const owner of ownersOf(contract)) {
          paths.set(`${id} ${owner}`, this.#pathsSince.get(`${id} ${owner}`) ?? release);
        }
      }
    }
    this.#pathsSince = paths;
  }

  /** The ids of the records that a list shows, in order. */
  list(kind: IndexedKind, scope: Scope, filters: Filters, since: PlainSince | null): string[] {
    const granted = {
      everythingSince: scope.everythingSince,
      leadEntities: Object.fromEntries(scope.leadEntities),
      coops: Object.fromEntries(scope.coops),
    };
    const shown = this.#model.list(kind, filters, granted, '').map((record) => String(record['id']));
    return since === null ? shown : shown.filter((id) => this.#isSince(kind, id, scope, since));
  }

  #isSince(kind: IndexedKind, id: string, scope: Scope, since: PlainSince): boolean {
    const { everythingSince } = scope;
    if (everythingSince !== null && everythingSince >= since.from) return true;
    if ((this.#changedIn.get(`${kind} ${id}`)?.release ?? 0) >= since.release) return true;
    if (everythingSince !== null) return false;
    return this.#waysTo(kind, id).some(({ owner, pathSince }) => {
      const [facet, key = ''] = owner.split(' ');
      const grantedAt = (facet === 'coop' ? scope.coops : scope.leadEntities).get(key);
      return grantedAt !== undefined && (grantedAt >= since.from || pathSince >= since.release);
    });
  }

  /** The lead entities and coops through which a record is visible, and the import since which they are. */
  #waysTo(kind: IndexedKind, id: string): { owner: string; pathSince: number }[] {
    if (kind === 'suppliers') {
      return [...this.#pathsSince].flatMap(([path, pathSince]) =>
        path.startsWith(`${id} `) ? [{ owner: path.slice(id.length + 1), pathSince }] : [],
      );
    }
    const record = this.#model.records[kind].get(id);
    return record === undefined ? [] : ownersOf(record).map((owner) => ({ owner, pathSince: 0 }));
  }
}

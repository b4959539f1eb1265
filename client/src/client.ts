import type {
  Certification,
  Contract,
  Count,
  CountSolicitationsData,
  Health,
  ListCertificationsData,
  ListCityServicesData,
  ListContractsData,
  ListSolicitationsData,
  ListSuppliersData,
  NamedRef,
  Solicitation,
  SolicitationDetail,
  Supplier,
} from './generated/types.gen.ts';
import { UnexpectedAnswerError } from './errors.ts';
import { queryString, RecordList } from './lists.ts';
import type { ClientOptions } from './options.ts';
import { Transport, type RequestOptions } from './transport.ts';

/** The interface's parameters; instants may be given as dates, and certifications as a list. */
type Filters<Data extends { query?: unknown }> = {
  readonly [Name in keyof NonNullable<Data['query']>]?:
    | NonNullable<Data['query']>[Name]
    | (Name extends 'updated_since' | 'closing_after' | 'closing_before' ? Date : never)
    | (Name extends 'certifications' ? readonly string[] : never)
    | undefined;
};

export type ContractFilters = Filters<ListContractsData>;
export type SupplierFilters = Filters<ListSuppliersData>;
export type SolicitationFilters = Filters<ListSolicitationsData>;
export type SolicitationCountFilters = Filters<CountSolicitationsData>;
export type CertificationFilters = Filters<ListCertificationsData>;
/** Of lists without filters: where to begin, and how large pages are. */
export type PageFilters = Filters<ListCityServicesData>;

/** Asks for lists. */
export interface ListResource<Listed, ListFilters> {
  /** Its records, page after page, as they are asked for. Nothing is asked before. */
  list(filters?: ListFilters, options?: RequestOptions): RecordList<Listed>;
}

/** Asks for lists, and for single records. */
export interface RecordResource<Listed, ListFilters, Id = string, Detail = Listed> extends ListResource<
  Listed,
  ListFilters
> {
  /** @throws NotFoundError where you see no such record. */
  get(id: Id, options?: RequestOptions): Promise<Detail>;
}

export interface SolicitationResource extends RecordResource<
  Solicitation,
  SolicitationFilters,
  string | number,
  SolicitationDetail
> {
  /** How many match. */
  count(filters?: SolicitationCountFilters, options?: RequestOptions): Promise<number>;
}

/**
 * The whole interface. What fails is one of the errors of this package; besides, a filter that is an invalid date is a
 * `RangeError`, and what the options' `cache` and `onAnswer` throw comes through.
 */
export interface Client {
  readonly contracts: RecordResource<Contract, ContractFilters>;
  readonly suppliers: RecordResource<Supplier, SupplierFilters>;
  /** `get` takes the `id` or the `ref`. */
  readonly solicitations: SolicitationResource;
  readonly certifications: ListResource<Certification, CertificationFilters>;
  readonly leadEntities: ListResource<NamedRef, PageFilters>;
  readonly cityServices: ListResource<NamedRef, PageFilters>;
  readonly coops: ListResource<NamedRef, PageFilters>;
  /** Whether the service answers; needs no key. */
  health(options?: RequestOptions): Promise<Health>;
}

/**
 * A client of one service with one key.
 *
 * @throws TypeError where an option is wrong.
 */
export function createClient(options: ClientOptions): Client {
  const transport = new Transport(options);
  const lists = <Listed, ListFilters extends object>(path: string): ListResource<Listed, ListFilters> => ({
    list: (filters, request = {}) => new RecordList<Listed>(transport, path, filters ?? {}, request),
  });
  const records = <Listed, ListFilters extends object, Id extends string | number, Detail extends { id: string }>(
    path: string,
  ): RecordResource<Listed, ListFilters, Id, Detail> => ({
    ...lists<Listed, ListFilters>(path),
    get: async (id, request) => {
      // What is no Unicode text cannot be sent, and is no id.
      const target = `${path}/${encodeURIComponent(String(id).toWellFormed())}`;
      const { data, info } = await transport.get<Detail>(target, request);
      // The one path below a list that is no record's: the count.
      if (typeof data.id !== 'string')
        throw new UnexpectedAnswerError(info.status, `${target}: the answer is no record`);
      return data;
    },
  });
  return {
    contracts: records<Contract, ContractFilters, string, Contract>('/v1/contracts'),
    suppliers: records<Supplier, SupplierFilters, string, Supplier>('/v1/suppliers'),
    solicitations: {
      ...records<Solicitation, SolicitationFilters, string | number, SolicitationDetail>('/v1/solicitations'),
      count: async (filters = {}, request) => {
        const target = `/v1/solicitations/count${queryString(filters)}`;
        const { data, info } = await transport.get<Count>(target, request);
        if (typeof data.total !== 'number')
          throw new UnexpectedAnswerError(info.status, `${target}: the answer is no count`);
        return data.total;
      },
    },
    certifications: lists<Certification, CertificationFilters>('/v1/certifications'),
    leadEntities: lists<NamedRef, PageFilters>('/v1/lead-entities'),
    cityServices: lists<NamedRef, PageFilters>('/v1/city-services'),
    coops: lists<NamedRef, PageFilters>('/v1/coops'),
    health: async (request) => (await transport.get<Health>('/health', request)).data,
  };
}

import { listChanges, type ChangeFilters, type ChangeList } from './changes.ts';
import type {
  Certification,
  Contract,
  Count,
  Health,
  Key,
  ListCertificationsData,
  ListCityServicesData,
  ListContractsData,
  ListSolicitationsData,
  ListSuppliersData,
  NamedRef,
  Solicitation,
  SolicitationDetail,
  SolicitationStatus,
  Supplier,
} from './generated/types.gen.ts';
import { UnexpectedAnswerError } from './errors.ts';
import { getKey } from './key.ts';
import { listRecords, queryString, type RecordList } from './lists.ts';
import type { ClientOptions } from './options.ts';
import { streamCsv, streamRecords } from './streams.ts';
import { Transport, type RequestOptions } from './transport.ts';

/** The parameters of several values, separated by commas. */
type Several = 'certifications' | 'lead_entity' | 'coop' | 'supplier' | 'city_service' | 'state' | 'status' | 'nigp';

/** The API's query parameters. Timestamps can also be `Date`s, and several values a list. */
type Filters<Data extends { query?: unknown }> = {
  readonly [Name in Exclude<keyof NonNullable<Data['query']>, 'format'>]?:
    | (Name extends 'status' ? Statuses : NonNullable<Data['query']>[Name])
    | (Name extends 'updated_since' | 'closing_after' | 'closing_before' ? Date : never)
    | (Name extends Exclude<Several, 'status'> ? readonly string[] : never)
    | undefined;
};

/** The document has one pattern for one status and several, of which the generated type is any text. */
type Statuses = SolicitationStatus | `${SolicitationStatus},${string}` | readonly SolicitationStatus[];

export type ContractFilters = Filters<ListContractsData>;
export type SupplierFilters = Filters<ListSuppliersData>;
export type SolicitationFilters = Filters<ListSolicitationsData>;
export type CertificationFilters = Filters<ListCertificationsData>;
/** For lists of names: `q`, which needs a service of version 2.1, `cursor` and `limit`. */
export type PageFilters = Filters<ListCityServicesData>;

/** A resource that can be listed. */
export interface ListResource<Listed, Given> {
  /** Lists the matching records. Lazy: the first request is sent on the first read, later pages as you read on. */
  list(filters?: Given, options?: RequestOptions): RecordList<Listed>;
}

/** A list's filters without `cursor` and `limit`. */
export type CountFilters<Given> = Omit<Given, 'cursor' | 'limit'>;

/** A resource that can be listed and counted, and fetched by id. */
export interface RecordResource<Listed, Given, Id = string, Detail = Listed> extends ListResource<Listed, Given> {
  /** @throws NotFoundError if no such record is visible to you. */
  get(id: Id, options?: RequestOptions): Promise<Detail>;
  /** The number of matching records. Those of contracts and suppliers need a service of version 2.1. */
  count(filters?: CountFilters<Given>, options?: RequestOptions): Promise<number>;
}

export type SolicitationCountFilters = CountFilters<SolicitationFilters>;
export type SolicitationResource = RecordResource<
  Solicitation,
  SolicitationFilters,
  string | number,
  SolicitationDetail
>;

/** Records and filters of each list, by the last part of its path. */
export interface Lists {
  readonly contracts: { readonly record: Contract; readonly filters: ContractFilters };
  readonly suppliers: { readonly record: Supplier; readonly filters: SupplierFilters };
  readonly solicitations: { readonly record: Solicitation; readonly filters: SolicitationFilters };
  readonly certifications: { readonly record: Certification; readonly filters: CertificationFilters };
  readonly 'lead-entities': { readonly record: NamedRef; readonly filters: PageFilters };
  readonly 'city-services': { readonly record: NamedRef; readonly filters: PageFilters };
  readonly coops: { readonly record: NamedRef; readonly filters: PageFilters };
}

/**
 * The whole API. Requests reject with a `PartnerDataError`, with two exceptions: an invalid `Date` in a filter throws a
 * `RangeError`, and errors thrown by your `cache`, `onAnswer` or `onKeyExpiring` propagate unchanged.
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
  /**
   * All records of a list, in pieces of 10,000 or `limit` records, which costs few requests. Lazy like `list`. Needs a
   * service of version 1.3.
   */
  stream<Kind extends keyof Lists>(
    kind: Kind,
    filters?: Lists[Kind]['filters'],
    options?: RequestOptions,
  ): AsyncIterable<Lists[Kind]['record']>;
  /** The same as CSV, whole lines at a time, the first of which is the header. */
  csv<Kind extends keyof Lists>(
    kind: Kind,
    filters?: Lists[Kind]['filters'],
    options?: RequestOptions,
  ): AsyncIterable<string>;
  /**
   * Lists the records that changed or were removed since a watermark, whole and with details; every record without one.
   * Use it to keep a copy. It is read in pieces, like `stream`, and needs a service of version 1.3.
   */
  changes(filters?: ChangeFilters, options?: RequestOptions): ChangeList;
  /** The key itself: when it ends, what its partner can see, its limit and its requests. */
  key(options?: RequestOptions): Promise<Key>;
  /** Checks that the service is up. Works without a valid key. */
  health(options?: RequestOptions): Promise<Health>;
}

/**
 * Creates a client for one service and one API key.
 *
 * @throws TypeError if an option is unknown or invalid.
 */
export function createClient(options: ClientOptions): Client {
  const transport = new Transport(options);
  const lists = <Listed, Given extends object>(path: string): ListResource<Listed, Given> => ({
    list: (filters, request = {}) => listRecords<Listed>(transport, path, { ...filters }, request),
  });
  const records = <Listed, Given extends object, Id extends string | number, Detail extends { id: string }>(
    path: string,
  ): RecordResource<Listed, Given, Id, Detail> => ({
    ...lists<Listed, Given>(path),
    get: async (id, request) => {
      // `encodeURIComponent` throws on lone surrogates. No id contains one, so the service rejects the replacement.
      const target = `${path}/${encodeURIComponent(String(id).toWellFormed())}`;
      const { data, info } = await transport.get<Detail>(target, request);
      // `get('count')` reaches the count, the one path below a list that is not a record.
      if (typeof data.id !== 'string')
        throw new UnexpectedAnswerError(info.status, `${target}: the response is not a record`);
      return data;
    },
    count: async (filters, request) => {
      const target = `${path}/count${queryString({ ...filters })}`;
      const { data, info } = await transport.get<Count>(target, request);
      if (typeof data.total !== 'number')
        throw new UnexpectedAnswerError(info.status, `${target}: the response is not a count`);
      return data.total;
    },
  });
  return {
    contracts: records<Contract, ContractFilters, string, Contract>('/v1/contracts'),
    suppliers: records<Supplier, SupplierFilters, string, Supplier>('/v1/suppliers'),
    solicitations: records<Solicitation, SolicitationFilters, string | number, SolicitationDetail>('/v1/solicitations'),
    certifications: lists<Certification, CertificationFilters>('/v1/certifications'),
    leadEntities: lists<NamedRef, PageFilters>('/v1/lead-entities'),
    cityServices: lists<NamedRef, PageFilters>('/v1/city-services'),
    coops: lists<NamedRef, PageFilters>('/v1/coops'),
    stream: (kind, filters = {}, request = {}) => streamRecords(transport, `/v1/${kind}`, filters, request),
    csv: (kind, filters = {}, request = {}) => streamCsv(transport, `/v1/${kind}`, filters, request),
    changes: (filters = {}, request = {}) => listChanges(transport, filters, request),
    key: (request) => getKey(transport, request),
    health: async (request) => (await transport.get<Health>('/health', request)).data,
  };
}

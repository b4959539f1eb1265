export type { Change, ChangeFilters, ChangeList, ChangesEnd, ChangesPiece } from './changes.ts';
export { createClient } from './client.ts';
export type {
  CertificationFilters,
  Client,
  ContractFilters,
  ListResource,
  Lists,
  PageFilters,
  RecordResource,
  SolicitationCountFilters,
  SolicitationFilters,
  SolicitationResource,
  SupplierFilters,
} from './client.ts';
export { memoryCache } from './cache.ts';
export type { AnswerCache, CachedAnswer } from './cache.ts';
export {
  AbortedError,
  ApiError,
  ConnectionError,
  ForbiddenError,
  InternalServerError,
  NotFoundError,
  PartnerDataError,
  RateLimitedError,
  TimeoutError,
  UnauthorizedError,
  UnexpectedAnswerError,
  ValidationFailedError,
} from './errors.ts';
export type { ApiErrorDetails } from './errors.ts';
export type { KeyExpiry } from './key-expiry.ts';
export type { Page, RecordList } from './lists.ts';
export type { AnswerInfo, ClientOptions } from './options.ts';
export type { RateLimit } from './rate-limit.ts';
export type { RetryOptions } from './retries.ts';
export type { RequestOptions } from './transport.ts';
export type {
  Certification,
  Contract,
  EmbeddedSupplier,
  FeedKind,
  Health,
  Key,
  NamedRef,
  Solicitation,
  SolicitationDetail,
  Supplier,
} from './generated/types.gen.ts';

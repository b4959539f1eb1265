export type { Change, ChangeFilters, ChangeList, ChangesEnd, ChangesPiece, Totals } from './changes.ts';
export * from './client.ts';
export * from './cache.ts';
export * from './errors.ts';
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

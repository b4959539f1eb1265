import { sql } from 'kysely';
import { loadValues } from '../../database/rows.ts';
import type { NamedRefRow } from '../../database/tables.ts';
import { isIndexed, type IndexedKind, type Kind, type NamedRefKind } from '../../kinds.ts';
import { certificationFields } from '../../resources/certifications/fields.ts';
import { renderContract } from '../../resources/contracts/fields.ts';
import { namedFields, type NamedRecord } from '../../resources/reference-lists/fields.ts';
import { fieldRenderer, type TextOf } from '../../resources/rendered-fields.ts';
import {
  renderSolicitation,
  renderSolicitationDetail,
  type SolicitationRecord,
} from '../../resources/solicitations/fields.ts';
import { renderCertifications, renderSupplier } from '../../resources/suppliers/fields.ts';
import type { ImportContext } from '../import-context.ts';
import type { RecordOf } from '../read/record-schemas.ts';
import { getFrom, type ReferenceData } from './references.ts';
import type { Entry, RowOf, StoredRecord } from './stored-records.ts';

/** The columns that are rendered from a record and what it embeds. */
type RenderedColumns<K extends Kind> = Omit<
  RowOf<K>,
  'position' | 'line_hash' | 'changed_release' | 'updated_at' | 'updated_release' | 'detail_release'
>;

type Renderer<K extends Kind> = (record: RecordOf[K]) => RenderedColumns<K>;

/** Loads what these records embed, and returns the function that renders each of them. */
export async function rendererOf<K extends Kind>(
  context: ImportContext,
  kind: K,
  records: readonly RecordOf[K][],
): Promise<Renderer<K>> {
  return RENDERERS[kind](context, records);
}

type Renderers = {
  readonly [K in Kind]: (context: ImportContext, records: readonly RecordOf[K][]) => Renderer<K> | Promise<Renderer<K>>;
};

const renderName = fieldRenderer(namedFields);

const renderCertification = fieldRenderer(certificationFields);

const RENDERERS: Renderers = {
  'lead-entities': () => renderNamedRef,
  coops: () => renderNamedRef,
  'city-services': () => renderNamedRef,
  certifications: () => (record) => ({ ...record, document: `{${renderCertification(record)}}` }),
  suppliers:
    ({ referenceData: { certifications } }) =>
    (record) => {
      const { id, short_intro, about } = record;
      const { all, preview } = renderCertifications(
        record.certifications.map((abbreviation) => ({ abbreviation, type: getFrom(certifications, abbreviation) })),
      );
      const document = `{${renderSupplier(record)}`;
      return { id, document, certifications_preview: preview, certifications_all: all, short_intro, about };
    },
  async contracts({ database, referenceData: { named } }, records) {
    const ids = new Set(records.flatMap(({ supplier_ids }) => supplier_ids));
    // Their embedded form, without the closing brace.
    const suppliers = await loadValues(database, 'suppliers', [...ids], sql.ref<string>('document'));
    const textOf: TextOf = (kind, key) =>
      kind === 'suppliers' ? `${getFrom(suppliers, key)}}` : getFrom(named[kind as NamedRefKind], key);
    return (record) => {
      const { id, lead_entity_id, coop_id } = record;
      return { id, lead_entity_id, coop_id, document: `{${renderContract(record, textOf)}` };
    };
  },
  solicitations:
    ({ referenceData: { named } }) =>
    (record) => {
      const { id, ref, lead_entity_id, status, close_at } = record;
      const document = `{${renderSolicitation(record, (_, key) => getFrom(named['lead-entities'], key))}`;
      return { id, ref, lead_entity_id, status, close_at, document, detail: `,${renderSolicitationDetail(record)}` };
    },
};

/** The document is a NamedRef, for the reference lists and for records that embed it. */
function renderNamedRef(record: NamedRecord): NamedRefRow {
  return { ...record, document: `{${renderName(record)}}` };
}

/**
 * The longest contract, with the suppliers and city services that it embeds, in bytes: room for a thousand suppliers of
 * 2 KiB. The names of its lead entity and coop are not counted, so that renaming one of them cannot fail.
 */
export const MAX_CONTRACT_BYTES = 2 * 1024 * 1024;

/**
 * The size that {@link MAX_CONTRACT_BYTES} limits, without rendering what it embeds. A supplier or city service that does
 * not exist adds nothing: `RecordWriter.check` reports it.
 */
export function contractBytes(
  record: RecordOf['contracts'],
  { named }: ReferenceData,
  supplierBytes: ReadonlyMap<string, number>,
): number {
  const own = renderContract({ ...record, coop_id: '', supplier_ids: [], city_service_ids: [] }, () => '');
  let bytes = Buffer.byteLength(`{${own}`);
  // Each has a comma after it, and a supplier its closing brace.
  for (const supplier of record.supplier_ids) bytes += (supplierBytes.get(supplier) ?? 0) + 2;
  for (const service of record.city_service_ids)
    bytes += Buffer.byteLength(named['city-services'].get(service) ?? '') + 1;
  return bytes;
}

/** A record to render: new, changed, or stored as it is (`entry` is null) because something that it embeds changed. */
export interface Change<K extends Kind> {
  readonly key: string;
  readonly record: RecordOf[K];
  readonly entry: Entry<K> | null;
  /** Null for a new record. */
  readonly before: StoredRecord<K> | null;
}

/** A record with its rendered columns. */
export interface RenderedChange extends Change<Kind> {
  readonly columns: RenderedColumns<Kind>;
}

/**
 * The row to store for a rendered record; null if it embeds something that changed, but does not show it. Any change in
 * what a contract or supplier serves updates its `updated_at`. Notices, documents, questions and a renamed lead entity
 * do not update a solicitation's, but a renamed lead entity makes it appear in a sync.
 */
export function rowOf(context: ImportContext, kind: Kind, change: RenderedChange): object | null {
  const { entry, before, columns } = change;
  if (!isIndexed(kind)) return columns;
  const { release } = context;
  if (before === null) {
    if (typeof entry?.position !== 'number') throw new Error(`no position was planned for ${change.key}`);
    const bookkeeping = { position: entry.position, line_hash: entry.lineHash, changed_release: release };
    const updated_at = importedUpdatedAt(context, kind, entry.updatedAt);
    return {
      ...columns,
      ...bookkeeping,
      updated_at,
      ...(kind === 'solicitations' && { updated_release: release, detail_release: release }),
    };
  }
  const stored = before.row as StoredRecord<IndexedKind>['row'];
  const isServedAlike = SERVED_COLUMNS.every((column) => valueOf(stored, column) === valueOf(columns, column));
  if (entry === null && isServedAlike) return null;
  const isUpdated =
    kind === 'solicitations'
      ? ownText(change.record as SolicitationRecord) !== ownText(before.record as SolicitationRecord)
      : !isServedAlike;
  return {
    ...columns,
    position: stored.position,
    line_hash: entry?.lineHash ?? stored.line_hash,
    changed_release: isUpdated || !isServedAlike ? release : stored.changed_release,
    updated_at: isUpdated ? null : stored.updated_at,
    ...('updated_release' in stored && {
      updated_release: isUpdated ? release : stored.updated_release,
      detail_release:
        isServedAlike && !isUpdated && valueOf(stored, 'detail') === valueOf(columns, 'detail')
          ? stored.detail_release
          : release,
    }),
  };
}

/** The columns of lists, and of a supplier's detail. A solicitation's detail has no `updated_at` of its own. */
const SERVED_COLUMNS = ['document', 'certifications_preview', 'certifications_all'];

function valueOf(row: object, column: string): unknown {
  return (row as Readonly<Record<string, unknown>>)[column];
}

/** The fields of a solicitation that change its `updated_at`. */
function ownText({ documents: _, notices: __, questions: ___, ...own }: SolicitationRecord): string {
  return JSON.stringify(own);
}

/** Null for the release's timestamp, which also replaces one in the future. */
function importedUpdatedAt(context: ImportContext, kind: IndexedKind, updatedAt: string | null): string | null {
  if (updatedAt === null || updatedAt > context.startedAt || !context.emptyKinds.has(kind)) return null;
  if (updatedAt > context.latestUpdatedAt) context.latestUpdatedAt = updatedAt;
  return updatedAt;
}

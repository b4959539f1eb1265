import type { CertificationRow, NamedRefRow } from '../../../database/tables.ts';
import type { NamedRefKind } from '../../../kinds.ts';
import type { ImportContext } from '../../import-context.ts';
import type { CertificationRecord } from '../../../resources/certifications/fields.ts';
import type { NamedRecord } from '../../../resources/reference-lists/fields.ts';
import { renderAtOnce, type KindRules, type Report } from '../record-writer.ts';

/** Lead entities, coops and city services. */
export function namedRefRules(
  context: ImportContext,
  kind: NamedRefKind,
): KindRules<NamedRefKind, Pick<NamedRefRow, 'document'>> {
  return {
    columns: ['document'],
    isUnchanged: (before, { record }) => before.document === renderNamedRef(record),
    render: (changes) =>
      renderAtOnce(changes, ({ entry: { record }, before }) => {
        const document = renderNamedRef(record);
        if (before !== null) context.renamed[kind].set(record.id, before.document);
        context.referenceData.named[kind].set(record.id, document);
        return { ...record, document };
      }),
  };
}

/** Certifications, whose key is the abbreviation. */
export function certificationRules(
  { database: { kysely }, changed, referenceData }: ImportContext,
  report: Report,
): KindRules<'certifications', Pick<CertificationRow, 'type' | 'document'>> {
  return {
    columns: ['type', 'document'],
    isUnchanged: (before, { record }) => before.document === renderCertification(record),
    render: (changes) =>
      renderAtOnce(changes, ({ entry: { record }, before }) => {
        // Suppliers show only abbreviations, but sort them by type.
        if (before !== null && before.type !== record.type) changed.certifications.add(record.abbreviation);
        referenceData.certifications.set(record.abbreviation, record.type);
        return { ...record, document: renderCertification(record) };
      }),
    /** The supplier filter accepts names and abbreviations, so a name must identify one certification. */
    async checkStored(lines) {
      const rows = await kysely
        .selectFrom('catalog.certifications')
        .select(['abbreviation', 'name'])
        .orderBy('abbreviation')
        .execute();
      const holders = new Map<string, string>();
      for (const { abbreviation, name } of rows) {
        const folded = name.toLowerCase();
        const other = holders.get(folded);
        holders.set(folded, abbreviation);
        if (other === undefined) continue;
        const line = lines.get(abbreviation) ?? lines.get(other) ?? null;
        const reason = `${JSON.stringify(name)} is the name of both ${other} and ${abbreviation} (ignoring case)`;
        report(line, 'name', reason);
      }
    },
  };
}

/** Renders a NamedRef, for the reference lists and for records that embed one. */
function renderNamedRef({ id, name }: NamedRecord): string {
  return JSON.stringify({ id, name });
}

function renderCertification({ name, type, abbreviation }: CertificationRecord): string {
  return JSON.stringify({ name, type, abbreviation });
}

import type { SupplierRow } from '../../../database/tables.ts';
import { renderCertifications, renderSupplier } from '../../../resources/suppliers/render.ts';
import { stateOfLocation } from '../../../us-states.ts';
import type { ImportContext } from '../../import-context.ts';
import { publishedColumns, renderAtOnce, type KindRules } from '../record-writer.ts';
import { getFrom } from '../references.ts';

const COLUMNS = [
  ...(['position', 'hash', 'document', 'certifications_preview', 'certifications_all'] as const),
  ...(['changed_publication', 'updated_at'] as const),
];

export function supplierRules(
  context: ImportContext,
): KindRules<'suppliers', Pick<SupplierRow, (typeof COLUMNS)[number]>> {
  return {
    columns: COLUMNS,
    check({ record: { location } }) {
      if (location !== null && stateOfLocation(location) === null) context.locationsWithoutState += 1;
    },
    isUnchanged: (before, { hash }) => before.hash === hash,
    render: (changes) =>
      renderAtOnce(changes, (change) => {
        const { entry, before } = change;
        const { record } = entry;
        const row = {
          ...publishedColumns(context, 'suppliers', change),
          document: renderSupplier(record),
          ...renderedCertifications(context, record.certifications),
          searched: [record.short_intro, record.about].filter((text) => text !== null).join('\n'),
        };
        if (before === null) return row;
        if (before.document !== row.document) context.changed.suppliers.add(record.id);
        const isServedAlike =
          before.document === row.document &&
          before.certifications_all === row.certifications_all &&
          before.certifications_preview === row.certifications_preview;
        if (!isServedAlike) return row;
        // Searched or filtered fields changed, but nothing served.
        return { ...row, changed_publication: before.changed_publication, updated_at: before.updated_at };
      }),
    // `updateSupplierVisibility` updates the paths at the end.
    indexedLinks: ({ record }, before) => ({
      city_services: record.city_service_ids,
      paths: before !== null && 'paths' in before ? before.paths : [],
    }),
  };
}

/** The columns with a supplier's certifications. */
export function renderedCertifications(
  { referenceData }: ImportContext,
  abbreviations: readonly string[],
): Pick<SupplierRow, 'certifications_all' | 'certifications_preview'> {
  const { all, preview } = renderCertifications(
    abbreviations.map((abbreviation) => ({
      abbreviation,
      type: getFrom(referenceData.certifications, abbreviation),
    })),
  );
  return { certifications_preview: preview, certifications_all: all };
}

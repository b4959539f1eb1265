import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import { isOneOf, jsonElements } from '../../database/engine-sql.ts';
import type { Problem } from '../problems.ts';
import type { ImportContext } from '../import-context.ts';
import type { ContractRecord } from '../../resources/contracts/fields.ts';
import { contractRecordOf } from '../records.ts';
import { getFrom, loadSupplierBytes, REFERENCES } from './references.ts';
import type { PublishedKind } from '../publish-kind.ts';
import { batchesBySize, contractBytes, MAX_CONTRACT_BYTES, renderContracts } from './rules/contracts.ts';
import { renderedCertifications } from './rules/suppliers.ts';
import { inBatches } from '../../database/rows.ts';
import type { IndexedKind, Kind } from '../../kinds.ts';

const BATCH_RECORDS = 500;

type PublishedKinds = ReadonlyMap<Kind, PublishedKind>;

/**
 * Rerenders records that embed changed ones: contracts with a renamed lead entity, coop or city service or a changed
 * supplier; solicitations of a renamed lead entity; suppliers with a certification whose type changed.
 *
 * Reports contracts that this makes too large, and leaves them unchanged.
 *
 * @param published the sources of this import, to name the one that caused a problem.
 * @returns the number of records that changed only because of this.
 */
export async function rerender(context: ImportContext, published: PublishedKinds): Promise<number> {
  return (
    (await rerenderSuppliers(context)) +
    (await replaceNames(context, 'contracts', 'lead-entities')) +
    (await replaceNames(context, 'contracts', 'coops')) +
    (await rerenderContracts(context, published)) +
    (await replaceNames(context, 'solicitations', 'lead-entities'))
  );
}

async function rerenderSuppliers(context: ImportContext): Promise<number> {
  const { engine, kysely } = context.database;
  const ids = await listReferrers(context.database, 'suppliers', 'certifications', context.changed.certifications);
  let changed = 0;
  for (const batch of inBatches([...ids], BATCH_RECORDS)) {
    await context.pause();
    const held = await kysely
      .selectFrom('catalog.supplier_certifications')
      .select(['supplier_id', 'abbreviation'])
      .where((eb) => isOneOf(engine, eb.ref('supplier_id'), batch))
      .execute();
    for (const [id, certifications] of Map.groupBy(held, ({ supplier_id }) => supplier_id)) {
      const abbreviations = certifications.map(({ abbreviation }) => abbreviation);
      const rendered = renderedCertifications(context, abbreviations);
      const { certifications_all: all, certifications_preview: preview } = rendered;
      const stale = await kysely
        .selectFrom('catalog.suppliers')
        .select(['position', 'changed_publication'])
        .where('id', '=', id)
        .where((eb) => eb.or([eb('certifications_all', '!=', all), eb('certifications_preview', '!=', preview)]))
        .execute();
      if (stale.length === 0) continue;
      context.index.suppliers.markChanged(stale, context.release);
      await kysely
        .updateTable('catalog.suppliers')
        .set({ ...rendered, changed_publication: context.release, updated_at: null })
        .where('id', '=', id)
        .execute();
      changed += 1;
    }
  }
  return changed;
}

async function rerenderContracts(context: ImportContext, published: PublishedKinds): Promise<number> {
  const { database, changed: changedRecords, renamed } = context;
  const renamedServices = [...renamed['city-services'].keys()];
  const ids = (await listReferrers(database, 'contracts', 'city-services', renamedServices)).union(
    await listReferrers(database, 'contracts', 'suppliers', changedRecords.suppliers),
  );
  let changed = 0;
  for (const batch of inBatches([...ids], BATCH_RECORDS)) {
    await context.pause();
    const sizes = await database.kysely
      .selectFrom('catalog.contracts')
      .select(['id', sql<number>`octet_length(document)`.as('bytes')])
      .where((eb) => isOneOf(database.engine, eb.ref('id'), batch))
      .execute();
    for (const few of batchesBySize(sizes, ({ bytes }) => bytes)) {
      const fewIds = few.map(({ id }) => id);
      changed += await rerenderFewContracts(context, published, fewIds);
    }
  }
  return changed;
}

/** Rerenders these contracts, whose stored documents fit into memory together. */
async function rerenderFewContracts(
  context: ImportContext,
  published: PublishedKinds,
  ids: readonly string[],
): Promise<number> {
  const { database, referenceData } = context;
  const { engine, kysely } = database;
  const rows = await kysely
    .selectFrom('catalog.contracts')
    .select(['id', 'position', 'document', 'changed_publication'])
    .where((eb) => isOneOf(engine, eb.ref('id'), ids))
    .execute();
  const contracts = rows.map((row) => ({ row, record: contractRecordOf(row.document) }));
  const supplierBytes = await loadSupplierBytes(
    database,
    contracts.flatMap(({ record }) => record.supplier_ids),
  );
  const fitting = contracts.filter(({ record }) => {
    const bytes = contractBytes(record, referenceData, supplierBytes);
    if (bytes > MAX_CONTRACT_BYTES) context.problems.add(tooLargeNow(context, published, record, bytes, supplierBytes));
    return bytes <= MAX_CONTRACT_BYTES;
  });
  let changed = 0;
  for await (const batch of renderContracts(context, fitting, ({ record }) => record, supplierBytes)) {
    await context.pause();
    const renewed = batch.flatMap(({ item: { row }, document }) =>
      document === row.document ? [] : [{ ...row, document }],
    );
    if (renewed.length === 0) continue;
    context.index.contracts.markChanged(renewed, context.release);
    const documents = JSON.stringify(renewed.map(({ id, document }) => ({ id, document })));
    await sql`update catalog.contracts as stale
      set document = fresh.value ->> 'document', changed_publication = ${context.release}, updated_at = null
      from ${jsonElements(engine, documents, 'fresh')} where stale.id = fresh.value ->> 'id'`.execute(kysely);
    // The others were counted when a name in them was replaced.
    changed += renewed.filter(({ changed_publication }) => changed_publication !== context.release).length;
  }
  return changed;
}

/** The contract may be in none of the files, so this names the largest changed record that it embeds. */
function tooLargeNow(
  { changed, referenceData, renamed }: ImportContext,
  published: PublishedKinds,
  record: ContractRecord,
  bytes: number,
  supplierBytes: ReadonlyMap<string, number>,
): Problem {
  const services = referenceData.named['city-services'];
  const embedded = [
    ...record.supplier_ids
      .filter((id) => changed.suppliers.has(id))
      .map((id) => ({ kind: 'suppliers' as const, id, size: getFrom(supplierBytes, id) })),
    ...record.city_service_ids
      .filter((id) => renamed['city-services'].has(id))
      .map((id) => ({ kind: 'city-services' as const, id, size: getFrom(services, id).length })),
  ];
  const [largest] = embedded.sort((a, b) => b.size - a.size);
  if (largest === undefined) throw new Error(`contract ${record.id} is too large, but embeds nothing that changed`);
  const { source, lines } = getFrom(published, largest.kind);
  return {
    file: source.name,
    line: lines.get(largest.id) ?? null,
    field: '',
    reason: `makes contract ${JSON.stringify(record.id)} ${bytes} bytes long; the maximum for a contract is ${MAX_CONTRACT_BYTES}, with the suppliers and city services that it names`,
  };
}

/**
 * Replaces a lead entity's or coop's name in the database, since many records can contain it. The search string cannot
 * match inside a text, where its quotation marks would be escaped.
 *
 * @returns the number of records that changed.
 */
async function replaceNames(
  context: ImportContext,
  table: 'contracts' | 'solicitations',
  kind: 'lead-entities' | 'coops',
) {
  const { engine, kysely } = context.database;
  const field = kind === 'coops' ? 'coop' : 'lead_entity';
  const contains = sql.raw(engine === 'sqlite' ? 'instr' : 'strpos');
  let changed = 0;
  for (const [id, former] of context.renamed[kind]) {
    await context.pause();
    const before = `"${field}":${former}`;
    const after = `"${field}":${getFrom(context.referenceData.named[kind], id)}`;
    const isStale = sql`${sql.ref(`${field}_id`)} = ${id} and ${contains}(document, ${before}) > 0`;
    // Drafts are not in the index.
    const isServed = table === 'contracts' ? sql`1 = 1` : sql`status <> 'draft'`;
    const { rows: served } = await sql<{ position: number; changed_publication: number }>`
      select position, changed_publication from ${sql.table(`catalog.${table}`)} where ${isStale} and ${isServed}`.execute(
      kysely,
    );
    context.index[table].markChanged(served, context.release);
    await context.index[table].writeIfLarge();
    // A contract's `updated_at` follows everything that it serves; a solicitation's not its lead entity's name.
    const updatedAt = table === 'contracts' ? sql`null` : sql`updated_at`;
    const { numAffectedRows } = await sql`update ${sql.table(`catalog.${table}`)}
      set document = replace(document, ${before}, ${after}), changed_publication = ${context.release},
        updated_at = ${updatedAt}
      where ${isStale}`.execute(kysely);
    changed += Number(numAffectedRows ?? 0);
  }
  return changed;
}

/** The ids of the records of a kind that refer to these. Served by the index of the reference's table. */
async function listReferrers(
  { engine, kysely }: Database,
  from: IndexedKind,
  to: Kind,
  keys: Iterable<string>,
): Promise<Set<string>> {
  const ids = new Set<string>();
  const references = REFERENCES.filter((reference) => reference.from === from && reference.to === to);
  for (const { table, owner, column } of references) {
    for (const batch of inBatches([...keys], BATCH_RECORDS)) {
      const { rows } = await sql<{ id: string }>`select distinct ${sql.ref(owner)} as id
        from ${sql.table(`catalog.${table}`)} where ${isOneOf(engine, sql.ref(column), batch)}`.execute(kysely);
      for (const { id } of rows) ids.add(id);
    }
  }
  return ids;
}

import { sql } from 'kysely';
import type { OpenDatabase } from '../../src/database/database.ts';
import { verifyIndex, type IndexFindings } from '../../src/checks/verify-index.ts';
import { contract, SMALL_CATALOG, solicitation, supplier } from '../support/publishing.ts';
import { changeStored } from '../support/stored-catalog.ts';

const KINDS = ['suppliers', 'contracts', 'solicitations'] as const;

/** Small blocks, so that each kind has three. */
export const BLOCKS = { blockSize: 16 };

/** Ascending ids of equal length. */
export const numbered = (prefix: string): string[] =>
  Array.from({ length: 30 }, (_, index) => `${prefix}_${index + 10}`);

/** A catalog for small blocks; some solicitations are drafts. */
export const CATALOG = {
  ...SMALL_CATALOG,
  suppliers: numbered('sup').map(supplier),
  contracts: numbered('ctr').map((id, index) => ({ ...contract(id), supplier_ids: [`sup_${index + 10}`] })),
  solicitations: numbered('sol').map((id, index) => ({
    ...solicitation(id, index + 1),
    status: index % 10 === 0 ? 'draft' : 'open',
    title: `Bridge ${index % 7}`,
  })),
};

/** The faults of the index, such as `solicitations: 1 missing row ("bridge" in block 0)`. */
export async function faultsOf(database: OpenDatabase): Promise<string[]> {
  return described(await verifyIndex(database, () => undefined));
}

export function described(findings: readonly IndexFindings[]): string[] {
  return findings.flatMap(({ kind, faults }) =>
    [...faults].map(([fault, { count, example }]) => `${kind}: ${count} ${fault} (${example})`),
  );
}

/** The complete index, as text. */
export async function contentsOf({ kysely }: OpenDatabase): Promise<string> {
  const contents: unknown[] = [];
  for (const kind of KINDS) {
    const { rows } = await sql`select block, term, bits, checksum from ${sql.table(`catalog.${kind}_index`)}
      order by block, term`.execute(kysely);
    const { rows: positions } = await sql`select id, position from ${sql.table(`catalog.${kind}`)}
      order by id`.execute(kysely);
    contents.push(rows, positions);
  }
  const blocks = await kysely
    .selectFrom('catalog.index_blocks')
    .select(['kind', 'block', 'first_id'])
    .orderBy('kind')
    .orderBy('block')
    .execute();
  return JSON.stringify([contents, blocks]);
}

export async function setPosition(database: OpenDatabase, id: string, position: number): Promise<void> {
  await changeStored(database, async ({ kysely }) => {
    await sql`update catalog.solicitations set position = ${position} where id = ${id}`.execute(kysely);
  });
}

/** Runs statements on the catalog that no command runs. */
export const execute = async (database: OpenDatabase, ...statements: string[]): Promise<unknown> =>
  changeStored(database, async ({ kysely }) => {
    for (const statement of statements) await sql.raw(statement).execute(kysely);
  });

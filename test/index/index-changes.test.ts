import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { IndexChanges } from '../../src/index/write/index-changes.ts';
import { BLOCK_SIZE } from '../../src/index/position-set.ts';
import { createTestDatabase } from '../support/database.ts';
import { expectWholeIndex } from '../support/schema/index-rows.ts';
import { publishLines, SMALL_CATALOG, solicitation } from '../support/publishing.ts';
import { changeStored } from '../support/stored-catalog.ts';

/** More than one batch of moves, and too few for a block to be rebuilt. */
const RECORDS = 3_000;

test('records that move to positions of their neighbours keep their terms, even if 64 MB of other changes are pending', async () => {
  await using made = await createTestDatabase();
  const { database } = made;
  const solicitations = Array.from({ length: RECORDS }, (_, number) =>
    solicitation(`s${String(number).padStart(5, '0')}`, number + 1),
  );
  await publishLines(database, { ...SMALL_CATALOG, solicitations });
  const { records } = await expectWholeIndex(database, 'solicitations');

  await changeStored(database, async (stored) => {
    const changes = await IndexChanges.open(stored, 'solicitations', 'a token');
    const other = await changes.addBlock('t');
    // More than the 64 MB that are buffered.
    const terms = Array.from({ length: 180 }, (_, index) => `term${index}`);
    for (let position = 0; position < BLOCK_SIZE; position += 1) {
      changes.changeTerms(other * BLOCK_SIZE + position, [], terms);
    }
    await changes.move(records.map(({ id, position }) => ({ id, position, to: position + 1 })));
    await changes.finish();

    // The other block has no records.
    await sql`delete from catalog.solicitations_index where block = ${other}`.execute(stored.kysely);
  });
  const after = await expectWholeIndex(database, 'solicitations');
  expect(after.records).toEqual(records.map(({ id, position }) => ({ id, position: position + 1 })));
}, 60_000);

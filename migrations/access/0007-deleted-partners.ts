import { orderedText, type Migration } from '../../src/database/migrations/migration.ts';

/**
 * Marks deleted partners. Their rows stay, so that no later partner gets their id, under which usage is stored, and so
 * that a restore can tell a deleted partner from one that it must bring back. Servers of the previous version need not
 * know: the keys are revoked.
 */
export const deletedPartners: Migration = {
  number: 7,
  name: 'deleted partners',
  isAdditive: true,
  statements(engine) {
    return [`alter table access.partners add column deleted_at ${orderedText(engine)}`];
  },
};

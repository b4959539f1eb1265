import { beforeEach, describe, expect, test } from 'vitest';
import { issueKey, listKeys, rotateKey } from '../../src/access/key-admin.ts';
import { DEMO_KEY } from '../../src/access/keys.ts';
import { createPartner } from '../../src/access/partner-admin.ts';
import { listAuditEntries } from '../../src/database/audit.ts';
import { databaseForEachTest } from '../support/database.ts';

const clock = (): number => Date.parse('2026-06-01T12:00:00.000Z');

const made = databaseForEachTest();
beforeEach(() => createPartner(made.database, clock, 'acme', { everything: false }));

async function issueLabeled(label: string | null): Promise<string> {
  const options = { environment: 'test', lifetimeMs: null, label } as const;
  return (await issueKey(made.database, clock, 'acme', options)).details.id;
}

async function labelsAndChanges() {
  const keys = await listKeys(made.database, clock, null);
  const changes = await listAuditEntries(made.database, clock, { days: 1, partner: null });
  const ofKeys = changes.filter(({ action }) => action.startsWith('key '));
  return { labels: new Map(keys.map(({ id, label }) => [id, label])), details: ofKeys.map(({ details }) => details) };
}

describe('the label of a key', () => {
  test('is stored, inherited by a rotation, and recorded in the audit trail', async () => {
    const id = await issueLabeled('billing');
    const { issued } = await rotateKey(made.database, clock, id, 0);
    expect(issued.details.label).toBe('billing');
    const unlabeled = await issueLabeled(null);
    const { labels, details } = await labelsAndChanges();
    expect(labels).toEqual(
      new Map([
        [id, 'billing'],
        [issued.details.id, 'billing'],
        [unlabeled, null],
      ]),
    );
    expect(details).toEqual([
      { environment: 'test', expires_at: null, label: 'billing' },
      { good_until: '2026-06-01T12:00:00.000Z', replaced_by: issued.details.id, expires_at: null, label: 'billing' },
      { environment: 'test', expires_at: null },
    ]);
  });

  test('has 1 to 64 characters, of any script', async () => {
    for (const label of ['x', 'é'.repeat(64), '🔑'.repeat(64), 'Datenübernahme (Köln)']) {
      const id = await issueLabeled(label);
      expect((await labelsAndChanges()).labels.get(id)).toBe(label);
    }
  });

  test('that is blank, too long, not printable or contains a key is refused, and not repeated', async () => {
    const before = await labelsAndChanges();
    for (const label of [
      '',
      ' ',
      ' a',
      'a\n',
      'a\u001b[31m',
      'a\u202eb',
      'x'.repeat(65),
      `key ${DEMO_KEY}`.slice(-64),
    ]) {
      const issued = issueLabeled(label);
      await expect(issued, label).rejects.toThrow('a label is 1 to 64 printable characters');
      if (label.length > 3) await expect(issued).rejects.not.toThrow(label);
    }
    expect(await labelsAndChanges()).toEqual(before);
  });
});

import { expect, test } from 'vitest';
import { explain } from '../../src/access/explain.ts';
import { suspendPartner } from '../../src/access/partner-admin.ts';
import type { Kind } from '../../src/kinds.ts';
import { makePartner, type TestPartner } from '../support/partners.ts';
import { publishLines } from '../support/publishing.ts';
import { OWNED_PARTNERS, ownedCatalogs, visibleIn } from '../support/records/owned-catalogs.ts';
import { numberOfRuns } from '../support/runs.ts';
import { serviceForAllTests } from '../support/service.ts';

const KINDS = ['suppliers', 'contracts', 'solicitations', 'lead-entities', 'coops'] as const;

const catalogs = ownedCatalogs(numberOfRuns({ usually: 3, nightly: 20 }));
const service = serviceForAllTests({ catalog: catalogs[0] ?? {}, clock: Date.now });

/** The ids of all records of a kind that the API gives to a partner: of a detail, or of a reference list. */
async function givenTo({ key }: TestPartner, kind: Kind, ids: Iterable<string>): Promise<Set<string>> {
  const given = new Set<string>();
  if (kind === 'lead-entities' || kind === 'coops') {
    const { status, body } = await service.get(`/v1/${kind}?limit=100`, { key });
    if (status === 200) for (const { id } of (JSON.parse(body) as { data: { id: string }[] }).data) given.add(id);
  } else {
    for (const id of ids) if ((await service.get(`/v1/${kind}/${id}`, { key })).status === 200) given.add(id);
  }
  return given;
}

test('says that a partner sees a record exactly if the API gives it, which the model confirms', async () => {
  const partners: TestPartner[] = [];
  for (const setup of OWNED_PARTNERS) partners.push(await makePartner(service.database, Date.now, setup));
  partners.push(await makePartner(service.database, Date.now, { name: 'fern', everything: true }));
  await suspendPartner(service.database, Date.now, 'fern');
  for (const catalog of catalogs) {
    await publishLines(service.database, catalog, { replace: true, allowRemovals: true });
    await service.noticeChanges();
    for (const partner of partners) {
      const visible = visibleIn(catalog, partner.scope);
      for (const kind of KINDS) {
        const ids = new Set([...catalogs.flatMap((each) => each[kind].map(({ id }) => id)), 'none']);
        const given = await givenTo(partner, kind, ids);
        for (const id of ids) {
          const { sees, by, because } = await explain(service.database, Date.now, partner.name, kind, id);
          const what = `${partner.name} ${kind} ${id}`;
          expect([sees, because.length === 0], what).toEqual([given.has(id), given.has(id)]);
          if (sees) expect(by, what).not.toEqual([]);
        }
        const isRefused = partner.name === 'fern' || (partner.name === 'echo' && kind !== 'suppliers');
        if (!isRefused && kind !== 'lead-entities' && kind !== 'coops')
          expect([...given].sort()).toEqual([...visible[kind].keys()].sort());
      }
    }
  }
}, 180_000);

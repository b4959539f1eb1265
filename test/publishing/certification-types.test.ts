import { expect, test } from 'vitest';
import { databaseForEachTest } from '../support/database.ts';
import { publishLines, supplier } from '../support/publishing.ts';

const made = databaseForEachTest();

const certifications = (technicalFrom: string) =>
  'A B C D E F G H I J K L'.split(' ').map((abbreviation) => ({
    abbreviation,
    name: `Certification ${abbreviation}`,
    type: abbreviation < technicalFrom ? 'sbe' : 'technical',
  }));
const holder = { ...supplier('sup_1'), certifications: 'A B C D E F G H I J K L'.split(' '), city_service_ids: [] };

async function served() {
  const row = await made.database.kysely.selectFrom('catalog.suppliers').selectAll().executeTakeFirstOrThrow();
  const [preview, all] = [row.certifications_preview, row.certifications_all].map((text) =>
    (JSON.parse(text) as string[]).join(''),
  );
  return { preview, all, release: row.changed_release };
}

test.each([
  ['of its own', {}],
  ['that changes the supplier too', { suppliers: [{ ...holder, about: 'Tunnels' }] }],
])(
  "a certification's new type changes the preview although the whole list is unchanged, in an import %s",
  async (_case, more) => {
    await publishLines(made.database, { certifications: certifications('G'), suppliers: [holder] });
    // A to F are sbe, G to L technical: five of each.
    expect(await served()).toEqual({ preview: 'ABCDEGHIJK', all: 'ABCDEFGHIJKL', release: 1 });
    await publishLines(made.database, { certifications: certifications('H'), ...more });
    expect(await served()).toEqual({ preview: 'ABCDEHIJKL', all: 'ABCDEFGHIJKL', release: 2 });
  },
);

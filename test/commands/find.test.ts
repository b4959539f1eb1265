import { beforeAll, describe, expect, test } from 'vitest';
import { databaseForAllTests } from '../support/database.ts';
import { publishLines } from '../support/publishing.ts';
import { callPds } from './call-pds.ts';

const made = databaseForAllTests();
beforeAll(async () => {
  const numbered = Array.from({ length: 52 }, (_, index) => ({ id: `le_n${index}`, name: `School District ${index}` }));
  await publishLines(made.database, {
    'lead-entities': [
      { id: 'le_city_of_pittsburgh_d85d', name: 'City of Pittsburgh' },
      { id: 'le_ecole_1', name: 'École \u001b[31m Supplies' },
      ...numbered,
    ],
    coops: [{ id: 'co_costars_963a', name: 'COSTARS' }],
  });
});

const pds = (...words: string[]) => callPds(words, made.settings);

describe('pds find', { timeout: 120_000 }, () => {
  test('finds by the beginnings of words, by stems, without accents or case, and by the beginning of the id', async () => {
    const pittsburgh = 'ID                          NAME\nle_city_of_pittsburgh_d85d  City of Pittsburgh\n';
    expect(await pds('find', 'lead-entity', 'PITTS', 'city')).toEqual({ code: 0, stdout: pittsburgh, stderr: '' });
    expect((await pds('find', 'lead-entity', 'le_city')).stdout).toBe(pittsburgh);
    expect((await pds('find', 'lead-entity', 'ecole supply')).stdout).toContain('École \\u001b[31m Supplies');
    expect(JSON.parse((await pds('find', 'coop', 'costar', '--json')).stdout)).toEqual({
      found: [{ id: 'co_costars_963a', name: 'COSTARS' }],
      more: 0,
    });
  });

  test('shows 50, and how many more', async () => {
    const { stdout } = await pds('find', 'lead-entity', 'school');
    expect(stdout.trimEnd().split('\n')).toHaveLength(52);
    expect(stdout).toMatch(/\nand 2 more\n$/);
  });

  test('reports that nothing matches, and exits with 1', async () => {
    expect(await pds('find', 'coop', 'pittsburgh')).toEqual({
      ...{ code: 1, stdout: '' },
      stderr: 'No coop matches "pittsburgh". Each word must begin a word of the name; try fewer or shorter words.\n',
    });
    const json = await pds('find', 'coop', '*', '--json');
    expect([json.code, JSON.parse(json.stdout)]).toEqual([1, { found: [], more: 0 }]);
  });
});

import { expect, test } from 'vitest';
import { idsOf } from '../support/client.ts';
import { SMALL_CATALOG, solicitation } from '../support/publishing.ts';
import { serviceForAllTests } from '../support/service.ts';

/** More than are looked up in the index individually. */
const GRANTED = 230;
const LEAD_ENTITIES = 250;

const leadEntities = Array.from({ length: LEAD_ENTITIES }, (_, index) => ({
  id: `le_${index}`,
  name: `City ${index}`,
}));
const solicitations = leadEntities.map(({ id }, index) => ({
  ...solicitation(`sol_${String(index).padStart(3, '0')}`, index + 1),
  lead_entity_id: id,
  status: ['open', 'closed', 'draft'][index % 3],
  nigp_codes: [{ code: ['072', '07200', '0720045', '913'][index % 4] ?? '', description: '' }],
  close_at: index % 5 === 0 ? null : `2026-0${1 + (index % 9)}-15T12:00:00.000Z`,
}));

const service = serviceForAllTests({
  catalog: { ...SMALL_CATALOG, 'lead-entities': leadEntities, contracts: [], solicitations },
  partners: [{ name: 'many', leadEntities: leadEntities.slice(0, GRANTED).map(({ id }) => id) }],
});

test.each([
  ['q=paving', () => true],
  ['q=pav&status=closed', ({ status }) => status === 'closed'],
  ['q=main street&lead_entity=le_7', ({ lead_entity_id: owner }) => owner === 'le_7'],
  ['q=main street&lead_entity=le_240', () => false],
  [
    'q=paving&closing_after=2026-03-15T12:00:00.000Z&closing_before=2026-05-01T00:00:00Z',
    ({ close_at: at }) => at !== null && at >= '2026-03-15T12:00:00.000Z' && at <= '2026-05-01T00:00:00.000Z',
  ],
  ['status=open', ({ status }) => status === 'open'],
  ['nigp=07200,913', ({ nigp_codes: codes }) => codes.some(({ code }) => /^(07200|913)/.test(code))],
] as [string, (record: (typeof solicitations)[number]) => boolean][])(
  'a partner with thousands of grants lists and counts exactly what it can see: %s',
  async (filters, isAsked) => {
    const expected = solicitations
      .slice(0, GRANTED)
      .filter((record) => record.status !== 'draft' && isAsked(record))
      .map(({ id }) => id);
    const { key } = service.partner('many');
    const pages = await service.listAllPages(`/v1/solicitations?${encodeURI(filters)}`, key, [100]);
    expect(idsOf(...pages)).toEqual(expected);
    const { body } = await service.get(`/v1/solicitations/count?${encodeURI(filters)}`, { key });
    expect(JSON.parse(body)).toEqual({ total: expected.length });
  },
);

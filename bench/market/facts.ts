import type { PostgresCluster } from './postgres-cluster.ts';

/** Ids and values from the market that requests are built from. */
export interface MarketFacts {
  largestLeadEntity: string;
  smallestLeadEntity: string;
  /** Pairs of lead entity and status with more than a page of solicitations. */
  filledPairs: { leadEntity: string; status: string }[];
  /** The supplier on the most contracts. */
  commonSupplier: string;
  commonCoop: string;
  commonCityService: string;
  /** The state served by the most suppliers. */
  commonState: string;
  /** Ids of published solicitations (not drafts), in random order. */
  solicitationIds: string[];
}

const PAGE = 25;
const MAX_IDS = 120_000;

/** Reads the facts from the plain tables. */
export async function readFacts(postgres: PostgresCluster, database: string): Promise<MarketFacts> {
  const rows = <T extends object>(text: string): Promise<T[]> => postgres.query<T>(database, text);
  const ids = async (text: string): Promise<string[]> => (await rows<{ id: string }>(text)).map(({ id }) => id);
  const bySize = await ids(`select lead_entity_id as id from plain.solicitations group by 1 order by count(*) desc, 1`);
  const mostFrequent = async (column: string, table: string): Promise<string> => {
    const [first] = await ids(
      `select ${column} as id from plain.${table} group by 1 order by count(*) desc, 1 limit 1`,
    );
    return first ?? '';
  };
  return {
    largestLeadEntity: bySize[0] ?? '',
    smallestLeadEntity: bySize.at(-1) ?? '',
    commonSupplier: await mostFrequent('supplier_id', 'contract_suppliers'),
    commonCoop: await mostFrequent('coop_id', 'contracts where coop_id is not null'),
    commonCityService: await mostFrequent('city_service_id', 'contract_city_services'),
    commonState: await mostFrequent('unnest(states_served)', 'suppliers'),
    filledPairs: await rows(
      `select lead_entity_id as "leadEntity", status from plain.solicitations
       where status <> 'draft' and close_at is not null
       group by 1, 2 having count(*) > ${PAGE} order by md5(lead_entity_id || status)`,
    ),
    solicitationIds: await ids(
      `select id from plain.solicitations where status <> 'draft' order by md5(id) limit ${MAX_IDS}`,
    ),
  };
}

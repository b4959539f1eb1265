import { and, asc, eq, gt, gte, ne, sql, type SQL } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import fastify from 'fastify';
import pg from 'pg';
import * as schema from './drizzle-schema.ts';

/* Program: Fastify with Drizzle's relational queries, as in their documentation. No API keys, rate limits or logs. */

const { solicitations, contracts } = schema;
const [port, url = ''] = process.argv.slice(2);
const database = drizzle({ client: new pg.Pool({ connectionString: url }), schema });
const app = fastify();
const LIMIT = 25;

type Query = Partial<Record<'lead_entity' | 'status' | 'closing_after' | 'q' | 'cursor', string>>;

const LISTED = {
  id: true,
  ref: true,
  reference_number: true,
  title: true,
  status: true,
  issuing_organization: true,
  open_at: true,
  close_at: true,
  questions_due_at: true,
  intent_to_bid_due_at: true,
  updated_at: true,
} as const;

app.get<{ Querystring: Query }>('/v1/solicitations', async ({ query }) => ({
  data: await database.query.solicitations.findMany({
    columns: LISTED,
    with: { lead_entity: true },
    where: conditionOf(query),
    orderBy: asc(solicitations.id),
    limit: LIMIT,
  }),
}));

app.get<{ Querystring: Query }>('/v1/solicitations/count', async ({ query }) => ({
  total: await database.$count(solicitations, conditionOf(query)),
}));

app.get<{ Params: { id: string } }>('/v1/solicitations/:id', async ({ params }, reply) => {
  const found = await database.query.solicitations.findFirst({
    columns: { words: false },
    with: { lead_entity: true },
    where: and(eq(solicitations.id, params.id), ne(solicitations.status, 'draft')),
  });
  return found ?? reply.code(404).send({ error: 'not found' });
});

app.get<{ Querystring: Query }>('/v1/contracts', async ({ query }) => {
  const found = await database.query.contracts.findMany({
    with: {
      lead_entity: true,
      coop: true,
      suppliers: { with: { supplier: true }, orderBy: asc(schema.contractSuppliers.place) },
      city_services: { with: { city_service: true }, orderBy: asc(schema.contractCityServices.place) },
    },
    where: gt(contracts.id, query.cursor ?? ''),
    orderBy: asc(contracts.id),
    limit: LIMIT,
  });
  return {
    data: found.map((contract) => ({
      ...contract,
      suppliers: contract.suppliers.map(({ supplier }) => supplier),
      city_services: contract.city_services.map(({ city_service }) => city_service),
    })),
  };
});

await app.listen({ host: '127.0.0.1', port: Number(port) });

function conditionOf({ lead_entity, status, closing_after, q, cursor }: Query): SQL | undefined {
  return and(
    lead_entity === undefined ? undefined : eq(solicitations.lead_entity_id, lead_entity),
    status === undefined ? ne(solicitations.status, 'draft') : eq(solicitations.status, status),
    closing_after === undefined ? undefined : gte(solicitations.close_at, closing_after),
    q === undefined ? undefined : sql`${solicitations.words} @@ plainto_tsquery('english', ${q})`,
    cursor === undefined ? undefined : gt(solicitations.id, cursor),
  );
}

/** A statement that returns the complete response body as text. */
export interface Statement {
  /** With a name, PostgreSQL prepares the statement once per connection; without, it plans each execution. */
  name?: string;
  text: string;
}

const LIST_COLUMNS = `s.id, s.ref, s.reference_number, s.title, s.status, s.issuing_organization,
  json_build_object('id', l.id, 'name', l.name) as lead_entity,
  s.open_at, s.close_at, s.questions_due_at, s.intent_to_bid_due_at,
  s.status = 'open' and (s.close_at is null or s.close_at > now()) as is_open, s.updated_at`;

const SOLICITATIONS = 'solicitations s join lead_entities l on l.id = s.lead_entity_id';

export const STATEMENTS = {
  list: page(
    'list',
    `select ${LIST_COLUMNS} from ${SOLICITATIONS}
     where s.lead_entity_id = $1 and s.status = $2 and s.close_at >= $3::timestamptz
     order by s.id limit 25`,
  ),
  nextPage: page(
    'next-page',
    `select ${LIST_COLUMNS} from ${SOLICITATIONS}
     where s.id > $1 and s.status <> 'draft' order by s.id limit 25`,
  ),
  // Unnamed: the best index depends on how frequent the words are, so each execution is planned.
  search: page(
    undefined,
    `select ${LIST_COLUMNS} from ${SOLICITATIONS}
     where s.words @@ plainto_tsquery('english', $1) and s.status <> 'draft' and s.close_at >= $2::timestamptz
     order by s.id limit 25`,
  ),
  detail: {
    name: 'detail',
    text: `select row_to_json(record)::text as body from (
      select ${LIST_COLUMNS}, s.description, s.require_intent_registration, s.created_at,
        s.nigp_codes, s.documents, s.requested_items, s.notices, s.questions
      from ${SOLICITATIONS} where s.id = $1 and s.status <> 'draft') as record`,
  },
  contracts: page(
    'contracts',
    `select c.id, c.name, c.summary, c.description,
       json_build_object('id', l.id, 'name', l.name) as lead_entity,
       case when o.id is not null then json_build_object('id', o.id, 'name', o.name) end as coop,
       coalesce((
         select json_agg(json_build_object('id', p.id, 'name', p.name, 'states_served', p.states_served,
           'location', p.location, 'logo', p.logo, 'email', p.email, 'website', p.website) order by cs.place)
         from contract_suppliers cs join suppliers p on p.id = cs.supplier_id where cs.contract_id = c.id), '[]') as suppliers,
       coalesce((
         select json_agg(json_build_object('id', v.id, 'name', v.name) order by cv.place)
         from contract_city_services cv join city_services v on v.id = cv.city_service_id
         where cv.contract_id = c.id), '[]') as city_services,
       c.updated_at
     from contracts c join lead_entities l on l.id = c.lead_entity_id left join coops o on o.id = c.coop_id
     where c.id > $1 order by c.id limit 25`,
  ),
  count: {
    name: 'count',
    text: `select json_build_object('total', count(*))::text as body from solicitations
      where lead_entity_id = $1 and status = $2 and close_at >= $3::timestamptz`,
  },
} satisfies Record<string, Statement>;

function page(name: string | undefined, rows: string): Statement {
  return {
    ...(name !== undefined && { name }),
    text: `select json_build_object('data', coalesce(json_agg(record), '[]'))::text as body from (${rows}) as record`,
  };
}

-- The tables that a team would make for the same records: columns, foreign keys and the indexes
-- that the work below asks for. The lists within a solicitation stand in jsonb, which spares the
-- baselines five joins of their detail.

create schema plain;

create table plain.lead_entities (id text primary key, name text not null);
create table plain.coops (id text primary key, name text not null);
create table plain.city_services (id text primary key, name text not null);

create table plain.suppliers (
  id text primary key,
  name text not null,
  short_intro text,
  about text,
  states_served text[] not null,
  location text,
  logo text,
  email text,
  website text,
  updated_at timestamptz not null
);

create table plain.contracts (
  id text primary key,
  name text not null,
  summary text,
  description text,
  lead_entity_id text not null references plain.lead_entities,
  coop_id text references plain.coops,
  updated_at timestamptz not null
);

create table plain.contract_suppliers (
  contract_id text not null references plain.contracts,
  supplier_id text not null references plain.suppliers,
  place int not null,
  primary key (contract_id, supplier_id)
);

create table plain.contract_city_services (
  contract_id text not null references plain.contracts,
  city_service_id text not null references plain.city_services,
  place int not null,
  primary key (contract_id, city_service_id)
);

create table plain.solicitations (
  id text primary key,
  ref bigint not null unique,
  reference_number text not null,
  title text not null,
  status text not null,
  issuing_organization text,
  lead_entity_id text not null references plain.lead_entities,
  open_at timestamptz,
  close_at timestamptz,
  questions_due_at timestamptz,
  intent_to_bid_due_at timestamptz,
  description text,
  require_intent_registration boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  nigp_codes jsonb not null,
  documents jsonb not null,
  requested_items jsonb not null,
  notices jsonb not null,
  questions jsonb not null,
  words tsvector
);

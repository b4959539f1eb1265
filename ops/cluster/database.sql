-- The service's role and its database, created once through HAProxy's port of the primary.
-- docs/operators/several-machines.md explains its use; ops/cluster/try.sh and the tests run this file.
create role pds login password 'replace-this-pds-password';
create database pds owner pds;

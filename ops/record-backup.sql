-- Records that the database has just been backed up, for the alert about old backups. Run it as the owner or the writer:
-- psql "$PDS_DATABASE_URL" --file=ops/record-backup.sql
insert into access.settings (name, value)
values ('last_backup', to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
on conflict (name) do update set value = excluded.value;

#!/bin/sh
# Patroni's callback: /etc/patroni/promoted.sh on the hosts of PostgreSQL. After a promotion it runs "pds recover", so that
# nobody has to: with --nothing-lost in synchronous mode, in which partners need to read nothing again.
#
#   promoted.sh API on_role_change ROLE SCOPE      API: of Patroni on this host. Patroni adds the other three
#
# Patroni does not wait for it, ends it at the next change of role, and has its output in its own log. No password is on
# a command line: ops/pds reads the settings from a file.
set -eu
api=$1
# "master" until version 4 of Patroni.
case $3 in master | primary) ;; *) exit 0 ;; esac

recover() {
  # Patroni calls this while PostgreSQL is still being promoted.
  curl -sf --max-time 5 -o /dev/null "$api/primary" || return
  config=$(curl -sf --max-time 5 "$api/config") || return
  case $config in
    *'"synchronous_mode": true'*) pds recover --nothing-lost ;;
    *) pds recover --yes ;;
  esac
}

for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  if recover; then exit; fi
  sleep 3
done
echo 'promoted.sh: gave up. docs/operators/several-machines.md describes what to run by hand' >&2
exit 1

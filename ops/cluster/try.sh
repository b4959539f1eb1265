#!/usr/bin/env bash
# The whole cluster on this machine's loopback, for a try, from the files beside this one: each "host" is an address.
#
#   try.sh                     starts it, prints where it serves, and stops it on Ctrl-C
#   try.sh stop [PART…]        stops it, or parts of it: etcd-1, postgres-2, haproxy-1, redis-1, service-1, nginx, …
#   try.sh start PART…         starts parts again
#   try.sh signal NAME PART    sends a signal to all processes of a part: KILL, or STOP and CONT
#
# Its files are in $TRY_FOLDER (/tmp/pds-try), its addresses begin with $TRY_NETWORK (127.0.0). Needs Debian's
# packages postgresql, patroni, etcd-server, haproxy, redis-sentinel, nginx-light, openssl and curl, and `npm ci`.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
folder=${TRY_FOLDER:-/tmp/pds-try}
network=${TRY_NETWORK:-127.0.0}
all=(etcd-{1..3} postgres-{1..3} redis-{1..2} sentinel-{1..3} haproxy-{1..3} service-{1..2} nginx)
pds=("$root/node_modules/.bin/node" --disable-sigusr1 "$root/src/main.js")
PATH=$PATH:/usr/sbin

# PostgreSQL refuses to run as root.
as_postgres=()
# Others cannot start HAProxy as another user.
unprivileged=(-e '/^ *\(user\|group\) haproxy$/d')
if ((UID == 0)); then
  as_postgres=(setpriv --reuid=postgres --regid=postgres --clear-groups --)
  unprivileged=()
fi

# What differs from hosts of their own: folders, HAProxy's address, and whom a service and PostgreSQL see, since all
# connections on the loopback come from 127.0.0.1.
fill() { # FILE N
  sed -e "s|^\(PDS_TRUSTED_PROXIES\)=.*|\1=127.0.0.1|; s|all $network\.1[1-3]/32|all 127.0.0.0/8|; s|127.0.0.1:500|$network.1$2:500|" \
    -e "s|/var/lib/etcd/pds|$folder/etcd-$2.data|; s|/etc/etcd|$folder/hosts/$2|; s|/run/haproxy/admin.sock|$folder/haproxy-$2.sock|" \
    -e "s|/var/run/postgresql|$folder/data-$2|; s|/var/lib/postgresql|$folder/data-$2|; s|/etc/patroni/promoted|$here/promoted|" \
    -e "s|/etc/patroni|$folder/data-$2|; s|/etc/partner-data-service|$folder/data-$2|; s|/opt/partner-data-service/current|$root|" \
    "${unprivileged[@]}" "$1"
}

write_files() {
  umask 077
  mkdir "$folder"
  chmod 755 "$folder"
  "$here/prepare.sh" "$folder/hosts" $network.1{1,2,3} $network.10
  local n host
  for n in 1 2 3; do
    host=$folder/hosts/$n
    fill "$host/etcd.yml" $n >"$folder/etcd-$n.yml"
    fill "$host/patroni.yml" $n >"$folder/postgres-$n.yml"
    cp "$host/sentinel.conf" "$folder/sentinel-$n.conf"
    fill "$host/haproxy.cfg" $n >"$folder/haproxy-$n.cfg"
    fill "$host/environment" $n >"$folder/service-$n.env"
    mkdir -p "$folder/data-$n/15"
    cp "$host/ca.pem" "$host/host.pem" "$host/host.key" "$folder/data-$n"
    cp "$folder/service-$n.env" "$folder/data-$n/environment"
    fill "$here/../pds" $n >"$folder/data-$n/pds"
    chmod 755 "$folder/data-$n/pds"
    if ((UID == 0)); then chown -R postgres: "$folder/data-$n" "$folder/postgres-$n.yml"; fi
  done
  for n in 1 2; do sed "s|/var/lib/redis|$folder|" "$folder/hosts/$n/redis.conf" >"$folder/redis-$n.conf"; done
  sed "s|10\.0\.0\.|$network.|; s|listen 443|listen $network.10:8443|; s|/etc/nginx/tls|$folder|" "$here/../nginx.conf" >"$folder/site.conf"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=api.example.com \
    -addext subjectAltName=DNS:api.example.com -keyout "$folder/api.example.com.key" \
    -out "$folder/api.example.com.pem" 2>"$folder/openssl.log"
  mkdir "$folder/nginx"
  cat >"$folder/nginx.conf" <<END
daemon off; error_log stderr warn; pid nginx/pid;
events {}
http {
  client_body_temp_path nginx; proxy_temp_path nginx; fastcgi_temp_path nginx; uwsgi_temp_path nginx;
  scgi_temp_path nginx; include site.conf;
}
END
}

start() { # PART
  local n=${1##*-} command=()
  case $1 in
    etcd-*) command=(etcd --config-file "$folder/$1.yml") ;;
    postgres-*) command=("${as_postgres[@]}" env PATH="$folder/data-$n:$PATH" patroni "$folder/$1.yml") ;;
    redis-*) command=(redis-server "$folder/$1.conf") ;;
    sentinel-*) command=(redis-sentinel "$folder/$1.conf") ;;
    haproxy-*) command=(haproxy -db -f "$folder/$1.cfg") ;;
    service-*) command=("${pds[@]}" --config "$folder/$1.env" serve) ;;
    nginx) command=(nginx -p "$folder" -e stderr -c "$folder/nginx.conf") ;;
    *) echo "no such part: $1" >&2; return 2 ;;
  esac
  # In a session of its own, so that Ctrl-C does not stop everything at once.
  (
    cd "$folder"
    setsid "${command[@]}" >>"$1.log" 2>&1 </dev/null &
    echo $! >"$1.pid"
  )
}

# The process of a part and its children; of a database host, also PostgreSQL, which outlives Patroni. Another program can
# have the id of one that has ended: ours run in this folder.
processes() { # PART
  local pid
  for pid in $(head -qn1 "$folder/$1.pid" "$folder/data-${1#postgres-}/15/pds/postmaster.pid" 2>/dev/null); do
    [[ $(readlink "/proc/$pid/cwd") == "$folder"* ]] || continue
    echo "$pid"
    pgrep -P "$pid" || true
  done
}

stop() { # PART
  local pids turn
  pids=$(processes "$1")
  [[ -n $pids ]] || return 0
  # A stopped process acts on no other signal. Patroni stops PostgreSQL, if it still can.
  kill -CONT $pids 2>/dev/null || true
  kill "${pids%%$'\n'*}" || true
  for ((turn = 0; turn < 150; turn++)); do
    [[ -n $(processes "$1") ]] || return 0
    sleep 0.1
  done
  kill -KILL $(processes "$1") || true
}

# Waits up to a minute for a command to succeed.
await() { # TEXT COMMAND…
  local what=$1 since=$SECONDS
  shift
  until "$@" >/dev/null 2>&1; do
    if ((SECONDS - since > 60)); then
      echo "$what took more than a minute: see $folder/*.log" >&2
      return 1
    fi
    sleep 0.2
  done
}

# At once: nothing of it is of any use later. PostgreSQL frees its shared memory on SIGQUIT, and not on SIGKILL.
stop_all() {
  local part pids signal
  for signal in QUIT KILL; do
    for part in "${all[@]}"; do
      pids=$(processes "$part")
      kill -CONT $pids || true
      kill -KILL "${pids%%$'\n'*}" || true
      kill -$signal $pids || true
    done 2>/dev/null
    sleep 1
  done
  rm -rf "$folder"
}

check_machine() {
  local missing=() program
  for program in etcd patroni haproxy redis-server redis-sentinel nginx openssl curl psql pgrep; do
    command -v $program >/dev/null || missing+=($program)
  done
  [[ -x ${pds[0]} ]] || missing+=("'npm ci' in $root")
  if ((${#missing[@]} > 0)); then
    echo "not installed: ${missing[*]}" >&2
    return 1
  fi
  if [[ -e $folder ]]; then
    echo "$folder exists. If it is of an earlier try, end that with: $here/try.sh stop" >&2
    return 1
  fi
}

start_all() {
  check_machine
  write_files
  trap 'kill $(jobs -p) 2>/dev/null; stop_all' EXIT
  trap 'exit 0' INT TERM HUP
  for part in "${all[@]:0:14}"; do start "$part"; done
  await 'PostgreSQL' curl -sf "http://$network.11:8008/cluster"
  sed "s|^[^:]*|$network.11|" "$folder/hosts/1/pgpass" >"$folder/pgpass"
  database=(env PGPASSFILE="$folder/pgpass" psql -q -h "$network.11" -p 5000 -U postgres)
  await 'a primary' "${database[@]}" -c 'select 1'
  "${database[@]}" -f "$folder/hosts/1/database.sql"
  serve=("${pds[@]}" --config "$folder/service-1.env")
  "${serve[@]}" migrate
  "${serve[@]}" import "$root/sample"
  "${serve[@]}" partner create try --everything
  key=$("${serve[@]}" key issue try)
  for part in service-1 service-2 nginx; do start "$part"; done
  await 'a service' curl -sf "http://$network.11:8080/health"
  await 'a service' curl -sf "http://$network.12:8080/health"
  cat <<END

Two services: http://$network.11:8080 and http://$network.12:8080, behind https://$network.10:8443
  curl -H 'Authorization: Bearer $key' 'http://$network.11:8080/v1/contracts?limit=2'
Who is the primary, how to move it, and how to lose it:
  patronictl -c $folder/postgres-1.yml list
  patronictl -c $folder/postgres-1.yml switchover --force
  $here/try.sh signal KILL postgres-1    (start it again: $here/try.sh start postgres-1)
Its files and logs are in $folder. Ctrl-C stops it.
END
  # Bash runs a trap at once only while it waits.
  sleep infinity &
  wait $!
}

case ${1-} in
  '') start_all ;;
  start) for part in "${@:2}"; do start "$part"; done ;;
  stop) if (($# > 1)); then for part in "${@:2}"; do stop "$part"; done; else stop_all; fi ;;
  signal) kill -"$2" $(processes "$3") 2>/dev/null || true ;;
  *) sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
esac

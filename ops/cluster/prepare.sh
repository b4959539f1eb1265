#!/usr/bin/env bash
# Fills in the files of this folder for the three hosts of a cluster: addresses, random passwords, certificates.
#
#   prepare.sh FOLDER HOST HOST HOST NGINX      each an IP address, NGINX of the machine that sends requests
#
# Then FOLDER/1, FOLDER/2 and FOLDER/3 each have the files of one host. FOLDER/ca.key can sign certificates for further
# hosts: keep it, where none of them can read it. docs/operators/several-machines.md explains its use.
set -euo pipefail
if (($# != 5)); then
  sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
hosts=("${@:2:3}")
umask 077
mkdir "$folder"

# By way of placeholders: an address can be the example of another host.
fill=(-e "s/10\.0\.0\.10\b/@nginx@/g")
for n in 1 2 3; do fill+=(-e "s/10\.0\.0\.1$n\b/@$n@/g"); done
own='/ # own$\|^\(bind\|replica-announce-ip\|sentinel announce-ip\) \|^PDS_\(ADMIN_\)\?HOST=/'
passwords=()
for name in superuser replication pds redis; do
  passwords+=(-e "s/replace-this-$name-password/$(openssl rand -hex 16)/")
done

new_key=(openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)
certify() {
  "${new_key[@]}" -x509 -days 3650 -subj '/CN=pds cluster' -keyout "$folder/ca.key" -out "$folder/ca.pem"
  for n in 1 2 3; do
    local host=$folder/$n/host
    "${new_key[@]}" -subj "/CN=postgres-$n" -addext "subjectAltName=IP:${hosts[n - 1]},IP:127.0.0.1" -keyout "$host.key" -out "$host.csr"
    openssl x509 -req -in "$host.csr" -CA "$folder/ca.pem" -CAkey "$folder/ca.key" -CAcreateserial -days 3650 \
      -copy_extensions copy -out "$host.pem"
    rm "$host.csr"
    cp "$folder/ca.pem" "$folder/$n/ca.pem"
  done
}

for n in 1 2 3; do
  mkdir "$folder/$n"
  for file in etcd.yml patroni.yml promoted.sh haproxy.cfg environment database.sql pgpass redis.conf sentinel.conf; do
    sed "${fill[@]}" -e "$own{s/@1@/@$n@/g; s/postgres-1/postgres-$n/}" "${passwords[@]}" -e "s/@nginx@/$5/g" \
      -e "s/@1@/${hosts[0]}/g; s/@2@/${hosts[1]}/g; s/@3@/${hosts[2]}/g" "$here/$file" >"$folder/$n/$file"
  done
  if ((n > 1)); then echo "replicaof ${hosts[0]} 6379" >>"$folder/$n/redis.conf"; fi
done
if ! messages=$(certify 2>&1); then
  echo "$messages" >&2
  exit 1
fi

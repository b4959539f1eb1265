#!/bin/sh
# The first process of a host, in namespaces of its own: setup.sh NAME FOLDER. Whatever the host changes is in FOLDER; the
# folder above it, which the hosts share, is also /mnt.
set -eu
hostname "$1"
for folder in etc opt usr/local var/lib var/log; do
  mkdir -p "$2/$folder" "$2/work/$folder"
  mount -t overlay overlay -o "lowerdir=/$folder,upperdir=$2/$folder,workdir=$2/work/$folder" "/$folder"
done
mkdir -p "$2/root"
mount --bind "$2/root" /root
mount --bind "$(dirname "$2")" /mnt
mount -t tmpfs -o mode=755 tmpfs /run
# PostgreSQL's shared memory ends with the host.
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
systemd-tmpfiles --create haproxy.conf postgresql-common.conf
echo ready
# The kernel then reaps the processes that their parents leave behind.
exec perl -e '$SIG{CHLD} = "IGNORE"; sleep while 1'

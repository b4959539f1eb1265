#!/bin/sh
# Publishes the CSV files of a folder by its map.json, and prints what that changes: docs/operators/weekly.md
#
#   weekly.sh FOLDER
#
# If anything is refused, or the import would ask, nothing is published and the exit code is 1.
set -eu
PATH=$PATH:/usr/local/bin
if [ $# != 1 ]; then
  echo 'usage: weekly.sh FOLDER' >&2
  exit 2
fi

fail() {
  echo "weekly.sh: nothing was published; $1" >&2
  exit 1
}

cd "$1" || exit 1
mkdir -p weeks
# Released when the script ends, however it does.
exec 9>weeks/lock
flock -n 9 || fail 'an earlier run has not ended'

find . -maxdepth 1 -name '*.csv' -mtime +6 -exec echo 'warning: not written for a week:' {} ';'
week=$(date +%Y-%m-%d_%H%M%S)
# Renamed when it is published, so that a folder named for its time undoes all later ones, whatever ends the script.
new=weeks/new_$week
pds convert csv --map map.json --out "$new" || fail 'correct the file or the map, and run this again'
status=0
pds diff "$new" --replace || status=$?
[ "$status" -le 1 ] || fail "the converted files are in $PWD/$new"
# Without --yes: what needs consent is for someone to look at.
pds import "$new" --replace </dev/null || fail "the converted files are in $PWD/$new"
mv "$new" "weeks/$week"

ls -d weeks/????-??-??_?????? | head -n -8 | xargs -r rm -r
rm -rf weeks/new_*

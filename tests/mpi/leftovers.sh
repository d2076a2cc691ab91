#!/bin/sh
# leftovers.sh ENDING LAUNCHER... PROGRAM: runs the program, which ends as told, and looks for what is left of the
# memory that its ranks have shared. The MPI library's own leftovers are removed.
ending=$1
shift
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
TMPDIR=$scratch "$@" "$ending" "$scratch/names" >"$scratch/output" 2>&1
code=$?
if [ "$ending" = normal ] && [ $code -ne 0 ] || [ "$ending" != normal ] && [ $code -eq 0 ]; then
  cat "$scratch/output"
  echo "wrong: ending '$ending' with exit status $code"
fi
inode=$(sed -n 's/^inode //p' "$scratch/names")
if [ -z "$inode" ]; then
  cat "$scratch/output"
  echo "wrong: the ranks had no memory without a name"
  exit 1
fi
# The launcher does not wait for ranks that it kills.
for _ in 1 2 3 4 5 6 7 8 9 10; do
  users=$(grep -l " $inode  */memfd:laneway" /proc/[0-9]*/maps 2>/dev/null)
  [ -z "$users" ] && break
  sleep 0.5
done
[ -z "$users" ] || echo "wrong: still mapped: $users"
left=$(find /dev/shm -iname '*laneway*')
[ -z "$left" ] || echo "wrong: in /dev/shm: $left"
sed -n 's/^file //p' "$scratch/names" | xargs -r rm -f
echo "ending '$ending' leaves nothing of inode $inode"

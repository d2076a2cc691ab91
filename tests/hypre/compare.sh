#!/bin/sh
# compare.sh LIBRARY RANKS WORK -- LAUNCHER... -- PROGRAM...: what PROGRAM prints with LIBRARY preloaded is what it prints
# without, but for times, and exchanges were taken over. VARIABLES, a list of NAME=VALUE, go to the preloaded run, and the
# library ALSO is preloaded, too.
set -eu
library=$1
ranks=$2
work=$3
shift 4
launcher=
while [ "$1" != -- ]; do
  launcher="$launcher '$1'"
  shift
done
shift
mkdir -p "$work"
eval "$launcher" -n "$ranks" '"$@"' >"$work/without"
# Only the ranks are to have it in their environment, not the launcher.
eval "$launcher" -n "$ranks" env LD_PRELOAD="${ALSO:+$ALSO:}$library" LANEWAY_VERBOSE=1 $VARIABLES '"$@"' >"$work/with" 2>"$work/report"
grep 'laneway: hypre' "$work/report" || { echo "wrong: no report"; exit 1; }
for run in without with; do grep -v '^time' "$work/$run" >"$work/$run.results"; done
grep -q iterations "$work/without.results" || { echo "wrong: no results"; exit 1; }
cmp "$work/without.results" "$work/with.results" || { echo "wrong: results differ"; exit 1; }
taken=$(sed -n 's/.*hypre, rank 0: \([0-9]*\) exchanges taken over.*/\1/p' "$work/report")
case "$ranks $VARIABLES" in
1\ * | *DISABLE*) test "${taken:-0}" -eq 0 || { echo "wrong: $taken exchanges taken over"; exit 1; } ;;
*) test "${taken:-0}" -gt 0 || { echo "wrong: no exchange taken over"; exit 1; } ;;
esac
echo "same: $(wc -l <"$work/with.results") lines"

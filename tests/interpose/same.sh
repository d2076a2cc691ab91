#!/bin/sh
# same.sh LIBRARY LAUNCH... -- PROGRAM...: the program prints the same with the library preloaded as without, but for lines
# that start with "time". MACHINE: the nodes, if not two ranks each.
set -eu
library=$1
shift
launch=
while [ "$1" != -- ]; do
  launch="$launch $1"
  shift
done
shift
# shellcheck disable=SC2086
plain=$($launch env LANEWAY_DISABLE=1 "$@")
taken=$($launch env LD_PRELOAD="$library" LANEWAY_VERBOSE=1 LANEWAY_FIXED_COUNTS=1 "LANEWAY_MACHINE=${MACHINE:-node:* rank:2}" \
  LANEWAY_STRATEGY=three_step "$@" 2>&1)
printf '%s\n' "$taken"
results() { grep -v -e '^laneway: ' -e '^time'; }
if [ "$(printf '%s\n' "$plain" | results)" = "$(printf '%s\n' "$taken" | results)" ]; then echo "all checks hold"; else echo "wrong: without: $plain"; fi

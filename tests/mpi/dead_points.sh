#!/bin/sh
# dead_points.sh RANKS FAMILY PROGRAM LAUNCHER…: kills rank 1 at every third point until there are no more.
ranks=$1 family=$2 program=$3
shift 3
point=1
while :; do
  said=$(timeout 60 "$@" -n "$ranks" "$program" "$family" "$point" 2>&1)
  case $said in *SKIP:*) echo "$said"; exit 0 ;; esac
  good=$(printf '%s\n' "$said" | grep -c '^good: ')
  if printf '%s\n' "$said" | grep -q '^good: rank 1 '; then
    echo "all points until $point"
    exit 0
  fi
  if [ "$good" -ne $((ranks - 1)) ]; then
    printf 'wrong: point %s of %s: %s\n' "$point" "$family" "$said"
    exit 1
  fi
  point=$((point + 3))
done

#!/bin/sh
# dead_jobs.sh FAMILY KIND MOST PROGRAM LAUNCHER…: on an MPI library that does not go on without a process, kills a rank at
# MOST points as dead_points.sh does. The job ends, by an error or by the MPI library: nobody waits on.
family=$1 kind=$2 most=$3 program=$4
shift 4
said=$(timeout 60 "$@" -n 3 "$program" "$family" "$kind" 0 2>&1)
count=$(printf '%s\n' "$said" | sed -n "s/^end: $family has \([0-9]*\) points$/\1/p")
if [ -z "$count" ]; then
  printf 'wrong: nobody is killed, and %s does not come to its end: %s\n' "$family" "$said"
  exit 1
fi
stride=$(((count + most - 1) / most))
point=1
while [ "$point" -le "$count" ]; do
  said=$(timeout 60 "$@" -n 3 "$program" "$family" "$kind" "$point" 2>&1)
  status=$?
  # Where the last points are not reached, the rank lives.
  lives=$(printf '%s\n' "$said" | grep -c '^end: ')
  if [ "$status" -eq 124 ] || { [ "$status" -eq 0 ] && [ "$lives" -eq 0 ]; }; then
    printf 'wrong: status %s, %s %s of %s: %s\n' "$status" "$kind" "$point" "$family" "$said"
    exit 1
  fi
  point=$((point + stride))
done
echo "$family: every job ends, of $count points of $kind, one of $stride"

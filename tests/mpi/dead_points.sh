#!/bin/sh
# dead_points.sh FAMILY KIND MOST PROGRAM LAUNCHER…: kills a rank at MOST points that are equally far apart, or at all if
# there are fewer, from the first to the last of those that dead_points counts. Four of them are killed in each run, each
# among ranks of its own.
family=$1 kind=$2 most=$3 program=$4
shift 4
groups=4
said=$(timeout 120 "$@" -n 3 "$program" "$family" "$kind" 0 2>&1)
case $said in *SKIP:*) echo "$said"; exit 0 ;; esac
count=$(printf '%s\n' "$said" | sed -n "s/^end: $family has \([0-9]*\) points$/\1/p")
if [ -z "$count" ] || [ "$(printf '%s\n' "$said" | grep -c '^good: .*free')" -ne 3 ]; then
  printf 'wrong: nobody is killed, and %s does not come to its end: %s\n' "$family" "$said"
  exit 1
fi
stride=$(((count + most - 1) / most))
point=1
while [ "$point" -le "$count" ]; do
  points='' n=0
  while [ "$n" -lt "$groups" ] && [ "$point" -le "$count" ]; do
    points="$points $point" n=$((n + 1)) point=$((point + stride))
  done
  # shellcheck disable=SC2086
  said=$(timeout 120 "$@" -n $((3 * n)) "$program" "$family" "$kind" $points 2>&1)
  for each in $points; do
    ends=$(printf '%s\n' "$said" | grep -c "^good: rank . of $family, point $each: free")
    # Where what comes before differs between runs, the last points are not reached.
    if [ "$ends" -lt 2 ] || printf '%s\n' "$said" | grep -q '^wrong: '; then
      printf 'wrong: %s %s of %s, of%s: %s\n' "$kind" "$each" "$family" "$points" "$said"
      exit 1
    fi
  done
done
echo "$family: good at $count points of $kind, one of $stride"

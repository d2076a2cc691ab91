#!/bin/bash
# dead_points.sh WHAT FAMILY MOST PROGRAM LAUNCHER…: kills each of three ranks at each point that dead_points counts for it,
# or at MOST of all, which are equally far apart. WHAT follows: `survivors` end as dead_points says; four ranks are killed
# in each run, each among ranks of its own. `end`: the MPI library does not go on without a process; the job ends, by an
# error or by the MPI library: nobody waits on.
what=$1 family=$2 most=$3 program=$4
launch=("${@:5}")
run() { timeout "$1" "${launch[@]}" -n "$2" "$program" "$family" "${@:3}" 2>&1; }
fail() {
  printf 'wrong: %s: %s\n' "$1" "$said"
  exit 1
}
said=$(run 120 3 0) || fail "nobody is killed, and $family fails"
mapfile -t points < <(sed -n "s/^end: rank \([012]\) of $family has \([0-9]*\) points$/\1 \2/p" <<<"$said" | sort |
  while read -r rank count; do seq -f "$rank:%.0f" "$count"; done)
[ "${#points[@]}" -gt 0 ] || fail "nobody is killed, and $family does not come to its end"
grep -q '^wrong: ' <<<"$said" && fail "nobody is killed, and $family fails"
stride=$(((${#points[@]} + most - 1) / most))
mapfile -t chosen < <(printf '%s\n' "${points[@]}" | sed -n "1~${stride}p")
each_run=$([ "$what" = survivors ] && echo 4 || echo 1)
killed=0
# Where what comes before differs between runs, the last points are not reached, and the rank lives.
for ((first = 0; first < ${#chosen[@]}; first += each_run)); do
  now=("${chosen[@]:first:each_run}")
  said=$(run 120 $((3 * ${#now[@]})) "${now[@]}")
  status=$?
  grep -q '^wrong: ' <<<"$said" && fail "$family at ${now[*]}"
  if [ "$what" = end ]; then
    [ "$status" -ne 124 ] || fail "$family at ${now[*]} waits on"
    grep -q "^end: rank ${now[0]%:*} " <<<"$said" && continue
    [ "$status" -ne 0 ] || fail "$family at ${now[*]} ends well"
    killed=$((killed + 1))
    continue
  fi
  for each in "${now[@]}"; do
    ended=$(grep -c "^good: rank . of $family, point $each: free" <<<"$said")
    [ "$ended" -ge 2 ] || fail "$family at $each, of ${now[*]}"
    killed=$((killed + 3 - ended))
  done
done
echo "$family: good at ${#chosen[@]} of ${#points[@]} points, one of $stride; $killed were reached"

#!/bin/sh
# fuzz.sh FUZZER CORPUS SECONDS MEGABYTES: tries inputs for so long at most, the same ones in every run; under
# LANEWAY_TEST_LONG 8 times as long, other ones each time. No single allocation may take more memory than that. An input
# that goes wrong is kept beside the fuzzer, and printed.
fuzzer=$1
corpus=$2
seconds=$3
megabytes=$4
inputs="-seed=1 -runs=20000"
if [ -n "$LANEWAY_TEST_LONG" ]; then
  seconds=$((8 * seconds))
  inputs=""
fi
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
ASAN_OPTIONS=quarantine_size_mb=16:detect_leaks=1:allocator_may_return_null=0 UBSAN_OPTIONS=print_stacktrace=1 \
  "$fuzzer" $inputs -reload=0 -max_total_time="$seconds" -timeout=20 -max_len=4096 -malloc_limit_mb="$megabytes" -rss_limit_mb=2048 \
  -print_final_stats=1 -verbosity=0 -artifact_prefix="$fuzzer-" "$scratch" "$corpus" >"$scratch.log" 2>&1
code=$?
grep -a number_of_executed_units "$scratch.log"
[ $code -eq 0 ] || tail -n 60 "$scratch.log"
rm -f "$scratch.log"
exit $code

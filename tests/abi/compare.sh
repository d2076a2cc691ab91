#!/usr/bin/env bash
# compare.sh LIBRARY DESCRIPTION [DESCRIPTION...]: fails unless the library has all that the first one describes, unchanged, and
# differs from all others; more functions may be there. The library is read once, which takes most of the time.
set -euo pipefail
if ! command -v abidiff >/dev/null; then
  echo "SKIP: abidiff is not installed (Debian: abigail-tools)"
  exit
fi
now=$(mktemp --suffix=.abi)
trap 'rm -f "$now"' EXIT
# As what it is compared with: of descriptions that were made in different ways abidiff misses changes.
"$(dirname "${BASH_SOURCE[0]}")/describe.sh" "$1" "$now"
# A library without types would pass.
if ! grep -q "name='LNW_Request_statistics'" "$now"; then
  echo "FAILED: the library has no debug information of its interface"
  exit 1
fi
abidiff --no-architecture --no-added-syms "$2" "$now"
for other in "${@:3}"; do
  status=0
  abidiff --no-architecture --no-added-syms "$other" "$now" >/dev/null || status=$?
  if ((!(status & 4))); then  # an interface has changed
    echo "FAILED: no difference from $other was found: status $status"
    exit 1
  fi
done

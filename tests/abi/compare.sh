#!/usr/bin/env bash
# compare.sh DESCRIPTION LIBRARY: fails unless the library has all that is described, unchanged; more functions may be there.
set -euo pipefail
if ! command -v abidiff >/dev/null; then
  echo "SKIP: abidiff is not installed (Debian: abigail-tools)"
  exit
fi
# A library without types would pass.
types=$(abidw --exported-interfaces-only "$2" | grep -c "name='LNW_Request_statistics'" || true)
if ((types == 0)); then
  echo "FAILED: the library has no debug information of its interface"
  exit 1
fi
abidiff --no-architecture --no-added-syms "$1" "$2"

#!/usr/bin/env bash
# describe.sh LIBRARY DESCRIPTION: writes the interface of a liblaneway.so that was built with Open MPI, as a release does.
# What is described is kept by all releases that follow: functions may be added, none removed, and no type changed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
raw=$(mktemp)
trap 'rm -f "$raw"' EXIT
abidw --headers-dir "$here/../../include" --drop-private-types --exported-interfaces-only --no-corpus-path \
  --no-comp-dir-path --no-show-locs --no-architecture --no-elf-needed --no-parameter-names --no-write-default-sizes \
  --suppressions "$here/only_interface.abignore" --out-file "$raw" "$1"
sed "s, path='[^']*/src/, path='src/," "$raw" >"$2"

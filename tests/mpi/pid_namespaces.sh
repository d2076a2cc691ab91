#!/bin/sh
# pid_namespaces.sh PROGRAM RANK LAUNCHER...: three ranks on one node, of which RANK has a PID namespace of its own.
program=$1
rank=$2
shift 2
apart='unshare --pid --fork --mount-proc'
if ! $apart true 2>/dev/null; then
  echo "SKIP: this user may not make PID namespaces"
  exit 0
fi
case $rank in
0) exec "$@" -n 1 $apart "$program" : -n 2 "$program" ;;
*) exec "$@" -n 2 "$program" : -n 1 $apart "$program" ;;
esac

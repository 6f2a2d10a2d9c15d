#!/usr/bin/env bash
# run.sh file|coupled SLUICE PROGRAM [derived]: the program in /dev/shm, or with its file coupled. Exit status
# 77 if memory is too small.
set -euo pipefail
kind=$1 sluice=$2 program=$3 access=${4:-}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# The program's buffer takes 2.1 GiB, and so does the file or segment. Elements that a datatype scatters need
# another buffer.
needed_mib=$([ "$access" = derived ] && echo 9000 || echo 6000)
available_mib=$(awk '/^MemAvailable:/ {print int($2 / 1024)}' /proc/meminfo)
if [ "$available_mib" -lt "$needed_mib" ]; then
  echo "skipped: $needed_mib MiB of memory are needed, $available_mib are available"
  exit 77
fi
if [ "$kind" = coupled ]; then
  cat >flow.yaml <<YAML
version: 1
name: large
staging: {memory: 3GiB}
components:
  program: {command: $program large_request.nc $access, ranks: 1}
files:
  - {path: large_request.nc, writer: program, readers: [program]}
YAML
  exec "$sluice" run --quiet flow.yaml
fi
shm_mib=$(df --output=avail -m /dev/shm 2>/dev/null | tail -1)
if [ "${shm_mib:-0}" -lt 3000 ]; then
  echo "skipped: 3000 MiB in /dev/shm are needed, ${shm_mib:-0} are free"
  exit 77
fi
directory=$(mktemp -d /dev/shm/sluice-large.XXXXXX)
trap 'rm -rf "$directory"' EXIT
"$program" "$directory/large_request.nc" $access

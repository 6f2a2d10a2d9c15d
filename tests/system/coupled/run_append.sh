#!/usr/bin/env bash
# run_append.sh BUILD PROGRAM WRITERS READERS [SEED]: each step adds a record to a file. Most gets of the
# newest record must be replayed: each process has 60 of them, and up to a quarter may be others.
# SLUICE_TEST_SEED replaces SEED.
set -euo pipefail
through=${SLUICE_TEST_THROUGH:-memory}
build=$1 program=$2 writers=$3 readers=$4 seed=${SLUICE_TEST_SEED:-${5:-$RANDOM}}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
echo "== seed $seed"
cat >flow.yaml <<EOT
version: 1
name: append
components:
  writer: {command: $program writer $seed 60, ranks: $writers}
  reader: {command: $program reader $seed 60, ranks: $readers}
files:
  - {path: history.nc, writer: writer, readers: [reader], through: $through}
  - {path: "done*.nc", writer: writer, readers: [reader]}
  - {path: "seen*.nc", writer: reader, readers: [writer]}
EOT
timeout 100 "$build/bin/sluice" run flow.yaml >output.txt 2>&1 || { cat output.txt; exit 1; }
grep -E "^file|^history" output.txt
case $through in file|subfiles|blobs) exit ;; esac  # these are not replayed
behind=2  # columns behind the column of replayed gets
if [ "$through" = burst-buffer ]; then behind=4; fi
replayed=$(awk -v behind=$behind '/^history/ { print $(NF - behind) }' output.txt)
if [ "$replayed" -lt $((readers * 30)) ]; then echo "only $replayed gets were replayed"; exit 1; fi

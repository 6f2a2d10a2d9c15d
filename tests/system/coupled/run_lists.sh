#!/usr/bin/env bash
# run_lists.sh BUILD PROGRAM WRITERS READERS [SEED]: variables that share lists of boxes, and some that
# differ; some steps repeat. Uses a fixed seed and a new one. SLUICE_TEST_SEED replaces SEED.
set -euo pipefail
build=$1 program=$2 writers=$3 readers=$4
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
steps=${STEPS:-40}
for seed in ${SLUICE_TEST_SEED:-${5:-$((writers * 10 + readers)) $RANDOM$RANDOM}}; do
  echo "== seed $seed, $writers writers, $readers readers"
  cat >flow.yaml <<EOT
version: 1
name: lists
components:
  writer: {command: $program writer $seed $steps $writers $readers, ranks: $writers}
  reader: {command: $program reader $seed $steps $writers $readers, ranks: $readers}
files:
  - {path: "lists_*.nc", writer: writer, readers: [reader]}
EOT
  timeout 100 "$build/bin/sluice" run flow.yaml >output.txt 2>&1 || { cat output.txt; exit 1; }
  grep lists_ output.txt
done

#!/usr/bin/env bash
# run_patterns.sh BUILD PROGRAM WRITERS [SEED]: random patterns for 1 to 4 readers, with two fixed seeds and a
# new one. SLUICE_TEST_SEED replaces SEED.
set -euo pipefail
build=$1 program=$2 writers=$3
through=${SLUICE_TEST_THROUGH:-memory}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for readers in 1 2 3 4; do
  for seed in ${SLUICE_TEST_SEED:-${4:-$((writers * 10 + readers)) $((writers * 100 + readers)) $RANDOM$RANDOM}}; do
    echo "== seed $seed, $writers writers, $readers readers"
    cat >flow.yaml <<EOF
version: 1
name: patterns
staging: {matchers: ${SLUICE_TEST_MATCHERS:-1}}
components:
  writer: {command: $program writer coupled $seed $writers, ranks: $writers}
  reader: {command: $program reader coupled $seed $writers, ranks: $readers}
files:
  - {path: "pattern*.nc", writer: writer, readers: [reader], partition: ${SLUICE_TEST_PARTITION:-range}, through: $through}
EOF
    timeout 60 "$build/bin/sluice" run flow.yaml >output.txt 2>&1 || { cat output.txt; exit 1; }
    if [ "$through" = burst-buffer ]; then rm -- pattern*.nc; fi  # all files exist, and no log
    if compgen -G "pattern*" >/dev/null; then echo "coupled files on the disk:" pattern*.nc; exit 1; fi
  done
done

#!/usr/bin/env bash
# run_case.sh BUILD PROGRAM CASE: runs the case with several numbers of writers and readers; 0 is a process
# without a launcher.
set -euo pipefail
through=${SLUICE_TEST_THROUGH:-memory}
build=$1 program=$2 case=$3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
memory=1GiB
if [ "$case" = pressure ] || [ "$case" = no_room ]; then memory="48MiB, spill: none"; fi
all_sizes=("1 1" "3 2" "2 4" "0 0")
if [ "$through" != memory ]; then all_sizes=("3 2" "0 0"); fi
for sizes in "${all_sizes[@]}"; do
  read -r writers readers <<<"$sizes"
  echo "== $case, $writers writers, $readers readers"
  cat >flow.yaml <<EOF
version: 1
name: $case
staging: {memory: $memory, matchers: ${SLUICE_TEST_MATCHERS:-1}}
components:
  writer: {command: $program writer $case, ranks: $writers}
  reader: {command: $program reader $case, ranks: $readers}
files:
  - {path: "case_*.nc", writer: writer, readers: [reader], through: $through}
  - {path: "back_*.nc", writer: reader, readers: [writer], through: $through}
EOF
  timeout 60 "$build/bin/sluice" run flow.yaml
  if [ "$through" != memory ]; then
    for file in *.nc; do ncvalidator -q "$file"; done
    rm -f -- *.nc*
  elif compgen -G "*.nc" >/dev/null; then echo "coupled files on the disk:" *.nc; exit 1; fi
done

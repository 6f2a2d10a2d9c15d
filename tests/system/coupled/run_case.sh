#!/usr/bin/env bash
# run_case.sh BUILD PROGRAM CASE: the case with several numbers of writers and readers; 0 is a process without a launcher.
set -euo pipefail
build=$1 program=$2 case=$3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
memory=1GiB
if [ "$case" = pressure ] || [ "$case" = no_room ]; then memory=48MiB; fi
for sizes in "1 1" "3 2" "2 4" "0 0"; do
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
  - {path: "case_*.nc", writer: writer, readers: [reader]}
  - {path: "back_*.nc", writer: reader, readers: [writer]}
EOF
  timeout 60 "$build/bin/sluice" run flow.yaml
  if compgen -G "*.nc" >/dev/null; then echo "coupled files on the disk:" *.nc; exit 1; fi
done

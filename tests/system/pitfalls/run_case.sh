#!/usr/bin/env bash
# run_case.sh BUILD PROGRAM CASE files|coupled: runs the case with several numbers of writers and readers.
set -euo pipefail
build=$1 program=$2 case=$3 how=$4
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for sizes in "1 1" "4 3" "2 4"; do
  read -r writers readers <<<"$sizes"
  echo "== $case, $writers writers, $readers readers"
  rm -rf ./*.nc .sluice writer_has_ended
  if [ "$how" = files ]; then
    launch() { timeout 60 mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n "$@"; }
    launch "$writers" "$program" writer "$case"
    touch writer_has_ended
    launch "$readers" "$program" reader "$case"
    continue
  fi
  cat >flow.yaml <<EOF
version: 1
name: $case
staging: {matchers: ${SLUICE_TEST_MATCHERS:-1}}
components:
  writer: {command: $program writer $case, ranks: $writers}
  reader: {command: $program reader $case, ranks: $readers}
files:
  - {path: "case*.nc", writer: writer, readers: [reader]}
EOF
  if [ "$case" = late ]; then  # its reader starts when the writer has ended
    timeout 60 sh -c "until grep -rqsF 'writer exited with status 0' .sluice; do sleep 0.05; done; touch writer_has_ended" &
  fi
  timeout 60 "$build/bin/sluice" run flow.yaml
  if compgen -G "case*.nc" >/dev/null; then echo "coupled files on the disk:" case*.nc; exit 1; fi
  if [ "$case" = names ]; then [ -f ordinary.nc ] || { echo "the file that no rule names is missing"; exit 1; }; fi
done

#!/usr/bin/env bash
# run_replay.sh BUILD PROGRAM WRITERS READERS [SEED]: long runs whose pattern changes at random steps, with
# and without replay, with two fixed seeds and a new one. With replay, some gets must be replayed; without it,
# none. SLUICE_TEST_SEED replaces SEED.
set -euo pipefail
build=$1 program=$2 writers=$3 readers=$4
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
steps=${STEPS:-60}
for seed in ${SLUICE_TEST_SEED:-${5:-$((writers * 10 + readers)) $((writers * 100 + readers)) $RANDOM$RANDOM}}; do
  for replay in auto off; do
    echo "== seed $seed, $writers writers, $readers readers, replay: $replay"
    cat >flow.yaml <<EOT
version: 1
name: replay
components:
  writer: {command: $program writer $seed $steps $writers $readers, ranks: $writers}
  reader: {command: $program reader $seed $steps $writers $readers, ranks: $readers}
files:
  - {path: "step_*.nc", writer: writer, readers: [reader], replay: $replay}
  - {path: "done_*.nc", writer: writer, readers: [reader]}
EOT
    timeout 150 "$build/bin/sluice" run flow.yaml >output.txt 2>&1 || { cat output.txt; exit 1; }
    grep -E "step_|replayed" output.txt
    replayed=$(awk '/^step_\*/ { print $(NF - 2) }' output.txt)  # the column before the waited time and its unit
    echo "replayed: $replayed"
    if [ "$replay" = off ] && [ "$replayed" != 0 ]; then echo "replay is off"; exit 1; fi
    total=$((${total:-0} + replayed))
  done
done
if [ "$total" -eq 0 ]; then echo "nothing was replayed"; exit 1; fi

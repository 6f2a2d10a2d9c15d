#!/usr/bin/env bash
# run_pair.sh BUILD WRITER READER: first both coupled, with 3 and 2 ranks. Then each preloaded, through an
# ordinary file that Debian's ncvalidator accepts.
set -euo pipefail
build=$1 writer=$2 reader=$3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
rm -f field.nc
cat >flow.yaml <<EOF
version: 1
name: languages
components:
  writer: {command: $writer writer field.nc, ranks: 3}
  reader: {command: $reader reader field.nc, ranks: 2}
files:
  - {path: field.nc, writer: writer, readers: [reader]}
EOF
timeout 60 "$build/bin/sluice" run flow.yaml
[ ! -e field.nc ] || { echo "the coupled file is on the disk"; exit 1; }
launch() { timeout 60 mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n "$@"; }
launch 3 env LD_PRELOAD="$build/lib/libsluice_pnetcdf.so" "$writer" writer field.nc
ncvalidator field.nc
launch 2 env LD_PRELOAD="$build/lib/libsluice_pnetcdf.so" "$reader" reader field.nc
launch 2 "$reader" reader field.nc

#!/usr/bin/env bash
# core.sh SOURCE COUPLE OPTION...: configures the project with the CMake options and without its optional
# parts, builds the product, and couples two runs of COUPLE, a program with Debian's libpnetcdf.
set -euo pipefail
source=$1 couple=$2
shift 2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fail() { echo "$1"; exit 1; }
rm -rf build run
cmake -S "$source" -B build "$@" -DSLUICE_TESTS=OFF -DSLUICE_BENCH=OFF \
  -DSLUICE_CDL=OFF -DSLUICE_HDF5=OFF -DSLUICE_FORTRAN=OFF -DSLUICE_MPICH=OFF
cmake --build build --target product
# The parts are left out, and the library has the functions of the core alone.
for part in hdf5 pnetcdff pnetcdff_mpich pnetcdf_mpich; do
  [ ! -e "build/lib/libsluice_$part.so" ] || fail "libsluice_$part.so was built, although it was switched off"
done
nm -D --defined-only build/lib/libsluice_pnetcdf.so >symbols.txt
grep -q ' ncmpi_create$' symbols.txt || fail "ncmpi_create is missing"
! grep ' cdl_hdr_' symbols.txt || fail "cdl_hdr_* was built, although it was switched off"
mkdir run
cd run
cat >flow.yaml <<FLOW
version: 1
name: core
components:
  model: {command: $couple write a.nc 1000, ranks: 2}
  analysis: {command: $couple read a.nc 1000}
files:
  - {path: a.nc, writer: model, readers: [analysis]}
FLOW
../build/bin/sluice run --log-dir log flow.yaml
[ ! -e a.nc ] || fail "a.nc went to disk and not through memory"
grep -q a.nc log/summary.txt || fail "the summary does not name a.nc"

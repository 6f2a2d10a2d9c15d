#!/bin/sh
# f_case.sh PROGRAM SLUICE RANKS FILES MAP, in a directory of its own: E3SM's F case in blobs is, element by element, what it is in one file, read by other numbers of
# ranks; each blob file is valid; merged, they are the one file, byte for byte.
set -eu
program=$1 sluice=$2 ranks=$3 files=$4 map=$5
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
run() {
  count=$1
  shift
  mpirun --oversubscribe --bind-to none -n "$count" "$@" </dev/null
}
rm -f -- *.nc *.nc.*
run "$ranks" "$program" write canonical.nc "$map"
PNETCDF_HINTS="sluice_layout=blob;nc_num_subfiles=$files" run "$ranks" "$program" write blobs.nc "$map"
[ "$(ls blobs.nc.* | wc -l)" = "$files" ]
for file in blobs.nc blobs.nc.*; do ncvalidator -q "$file"; done
[ "$(ncdump -h blobs.nc.0000 | grep -c 'num_decompositions = 3')" = 1 ]
run 1 "$program" compare canonical.nc blobs.nc
run 3 "$program" compare canonical.nc blobs.nc
"$sluice" merge --quiet blobs.nc merged.nc
cmp canonical.nc merged.nc

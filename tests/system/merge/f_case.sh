#!/bin/sh
# f_case.sh PROGRAM SLUICE RANKS FILES MAP LAYOUT, in its own directory: E3SM's F case in blobs (LAYOUT is
# blob or blob-process) has the same elements as in one file, also when other numbers of ranks read it. Each
# blob file is valid. Merged, they are the one file, byte for byte.
set -eu
program=$1 sluice=$2 ranks=$3 files=$4 map=$5 layout=$6
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
run() {
  count=$1
  shift
  mpirun --oversubscribe --bind-to none -n "$count" "$@" </dev/null
}
rm -f -- *.nc *.nc.*
run "$ranks" "$program" write canonical.nc "$map"
PNETCDF_HINTS="sluice_layout=$layout;nc_num_subfiles=$files" run "$ranks" "$program" write blobs.nc "$map"
[ "$(ls blobs.nc.* | wc -l)" = "$files" ]
ncvalidator -q blobs.nc
[ "$(ncdump -h blobs.nc | grep -c 'num_decompositions = 3')" = 1 ]
if [ "$layout" = blob ]; then
  for file in blobs.nc.*; do ncvalidator -q "$file"; done
  [ "$(ncdump -h blobs.nc.0000 | grep -c 'num_decompositions = 3')" = 1 ]
else
  for file in blobs.nc.*; do [ "$(h5ls "$file" | cut -d ' ' -f 1 | tr '\n' ' ')" = "data_blob header_blob " ]; done
fi
[ "$layout" != blob ] || run 1 "$program" compare canonical.nc blobs.nc
run 3 "$program" compare canonical.nc blobs.nc
"$sluice" merge --quiet blobs.nc merged.nc
cmp canonical.nc merged.nc

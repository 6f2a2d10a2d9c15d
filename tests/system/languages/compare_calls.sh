#!/usr/bin/env bash
# compare_calls.sh OURS DEBIANS: the same Fortran 90 program has the same output and the same file with both
# libraries.
set -euo pipefail
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
rm -f ours.nc debians.nc
timeout 60 "$1" ours.nc >ours.txt
timeout 60 "$2" debians.nc >debians.txt
diff ours.txt debians.txt
cmp ours.nc debians.nc

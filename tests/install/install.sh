#!/usr/bin/env bash
# install.sh BUILD SOURCE: installs into a prefix of its own, builds a consumer with find_package(sluice) there, runs it, and couples the same consumer with the installed `sluice`.
set -euo pipefail
build=$1 source=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
rm -rf prefix consumer-build
cmake --install "$build" --prefix "$PWD/prefix" >/dev/null
cmake -S "$source/tests/install/consumer" -B consumer-build -DCMAKE_PREFIX_PATH="$PWD/prefix" >/dev/null
cmake --build consumer-build
consumer-build/consumer
[ "$(ncdump -v v consumer.nc | grep -c 'v = 42')" = 1 ]
rm consumer.nc
cat >flow.yaml <<EOF
version: 1
name: installed
components:
  one: {command: consumer-build/consumer}
files:
  - {path: consumer.nc, writer: one, readers: [one]}
EOF
prefix/bin/sluice run flow.yaml
# The optional part is found where it is installed.
library=$(dirname "$(find prefix -name libsluice_pnetcdf.so)")
if [ -e "$library/libsluice_hdf5.so" ]; then
  PNETCDF_HINTS="sluice_layout=blob-process" consumer-build/consumer
  [ -e consumer.nc.0000 ]
  prefix/bin/sluice merge --quiet consumer.nc merged.nc
  [ "$(ncdump -v v merged.nc | grep -c 'v = 42')" = 1 ]
  rm consumer.nc consumer.nc.0000 merged.nc
fi
[ ! -e consumer.nc ]

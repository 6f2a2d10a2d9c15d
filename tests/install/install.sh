#!/usr/bin/env bash
# install.sh BUILD SOURCE: installs into a new prefix, builds a consumer with find_package(sluice) there, runs
# it, and couples it with the installed `sluice`.
set -euo pipefail
build=$1 source=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
rm -rf prefix consumer-build consumer-mpich
cmake --install "$build" --prefix "$PWD/prefix" >/dev/null
cmake -S "$source/tests/install/consumer" -B consumer-build -DCMAKE_PREFIX_PATH="$PWD/prefix" >/dev/null
cmake --build consumer-build
for file in man/man1/sluice.1 man/man5/sluice-workflow.5 sluice/sluice.schema.json bash-completion/completions/sluice zsh/vendor-completions/_sluice \
            sluice/python/sluice/__init__.py doc/sluice/docs/workflow-reference.md doc/sluice/workflows/examples/two-mpis/flow.yaml; do
  [ -s "prefix/share/$file" ] || { echo "share/$file is not installed"; exit 1; }
done
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
# A consumer with MPICH has the library for MPICH: by CMake, and by pkg-config.
if [ -e "$(dirname "$(find prefix -name libsluice_pnetcdf.so)")/libsluice_pnetcdf_mpich.so" ]; then
  cmake -S "$source/tests/install/consumer" -B consumer-mpich -DCMAKE_PREFIX_PATH="$PWD/prefix" -DMPI_C_COMPILER=mpicc.mpich >/dev/null
  cmake --build consumer-mpich
  readelf -d consumer-mpich/consumer | grep -q 'NEEDED.*libsluice_pnetcdf_mpich'
  readelf -d consumer-mpich/consumer | grep -q 'NEEDED.*libmpich'
  PKG_CONFIG_PATH=$(dirname "$(find prefix -name sluice-pnetcdf-mpich.pc)") \
    sh -c 'cc "$1" -o consumer-pc $(pkg-config --cflags --libs sluice-pnetcdf-mpich)' sh "$source/tests/install/consumer/consumer.c"
  sed 's|consumer-build/consumer|consumer-mpich/consumer|' flow.yaml >mpich.yaml
  prefix/bin/sluice run mpich.yaml
  [ ! -e consumer.nc ]
fi
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
# What was installed goes again.
(cd "$build" && cmake -P "$source/cmake/uninstall.cmake" >/dev/null)
left=$(find prefix -type f -o -type l)
[ -z "$left" ] || { echo "left by the uninstallation: $left"; exit 1; }

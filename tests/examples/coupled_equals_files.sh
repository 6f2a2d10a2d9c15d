#!/usr/bin/env bash
# The tsunami through files with the system's PnetCDF, and coupled through memory. The results must be equal
# to the last bit, and no wave file may be on disk in the coupled run. Usage: coupled_equals_files.sh
# BUILD_DIRECTORY MODEL_RANKS ANALYSIS_RANKS
set -euo pipefail
build=$1 model_ranks=$2 analysis_ranks=$3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
relief=/usr/share/ferret-vis/data/etopo60.cdf
model="$build/examples/tsunami --bathymetry $relief --hours 6 --output-minutes 20 --source-radius 300"
launch() { mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n "$@"; }

rm -rf files coupled && mkdir files coupled
(cd files && launch "$model_ranks" $model >model.log && launch "$analysis_ranks" "$build/examples/arrival" >analysis.log)
cat >coupled/flow.yaml <<EOF
version: 1
name: coupled-equals-files
components:
  model: {command: "$model", ranks: $model_ranks}
  analysis: {command: "$build/examples/arrival", ranks: $analysis_ranks}
files:
  - {path: "wave_*.nc", writer: model, readers: [analysis]}
EOF
"$build/bin/sluice" run coupled/flow.yaml
ls files/wave_*.nc | wc -l
if ls coupled/wave_*.nc 2>/dev/null; then echo "wave files were written to the disk"; exit 1; fi
/usr/bin/python3 - <<'EOF'
import sys, netCDF4, numpy
a, b = netCDF4.Dataset("files/arrival.nc"), netCDF4.Dataset("coupled/arrival.nc")
for f in (a, b): f.set_auto_mask(False)
assert list(a.variables) == list(b.variables), (list(a.variables), list(b.variables))
for name in a.variables:
    same = a[name][:].tobytes() == b[name][:].tobytes()
    print(name, "identical" if same else "DIFFERS")
    if not same: sys.exit(1)
    assert a[name].ncattrs() == b[name].ncattrs()
assert numpy.count_nonzero(a["arrival_time"][:] < 1e30) > 1000, "the wave went nowhere"
EOF
cmp files/arrival.nc coupled/arrival.nc && echo "arrival.nc is the same file, byte for byte"

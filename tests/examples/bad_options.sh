#!/usr/bin/env bash
# A mistake on the command line gives one clear line and exit status 2. A missing file gives its name and
# status 1. Usage: bad_options.sh BUILD_DIRECTORY
build=$1
expect() {  # status, text, program and arguments
  local status=$1 text=$2 output got
  shift 2
  output=$("$@" 2>&1) && got=0 || got=$?
  if [ "$got" != "$status" ] || ! grep -qF -- "$text" <<<"$output"; then
    echo "FAILED: $* gave status $got (expected $status) and said: $output"
    exit 1
  fi
}
expect 2 "give either --bathymetry" "$build/examples/tsunami"
expect 2 "--bathmetry" "$build/examples/tsunami" --bathmetry x.nc
expect 2 "must hold one number" "$build/examples/tsunami" --flat-depth 4000 --output wave.nc
expect 2 "must hold one number" "$build/examples/tsunami" --flat-depth 4000 --output wave_%s%d.nc
expect 2 "the region is empty" "$build/examples/tsunami" --flat-depth 4000 --west 10 --east 5
expect 2 "at least 3 x 3" "$build/examples/tsunami" --flat-depth 4000 --west 0 --east 0.5 --south 0 --north 0.5
expect 1 "no_such.nc: cannot open" "$build/examples/tsunami" --bathymetry no_such.nc
expect 1 "run the model first" "$build/examples/arrival" nothing_%d.nc
expect 2 "--threshold must be positive" "$build/examples/arrival" --threshold -1
expect 0 "--source-height" "$build/examples/tsunami" --help

#!/usr/bin/env bash
# check_nfmpi_symbols.sh OURS DEBIANS: our library has exactly the nfmpi_ functions of Debian's, except three
# helpers for strings.
set -euo pipefail
symbols() { nm -D --defined-only "$1" | grep -o 'nfmpi_.*' | LC_ALL=C sort; }
diff <(symbols "$1") <(symbols "$2" | grep -v -x -e nfmpi_xinq_libvers_ -e nfmpi_xstrerrno_ -e nfmpi_xstrerror_)
